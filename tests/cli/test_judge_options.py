"""Options of `fcconan judge`: files that would be destroyed, options that do not apply, runs without any result."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fcconan.data import COMPARED, RATED
from fcconan.models.answers.store import AnswerStore
from tests.cli.judging import fcconan, judge, recorded
from tests.cli.test_judge import OMBREY, REPLIES, compare, rate, rows, summary, write
from tests.cli.test_judge_strategies import calibrate, counts, drafts, passages, rated  # noqa: F401
from tests.models.old import old_line
from tests.models.server import Action, Body, Server, completion, error, says, use_key
from tests.models.stored import records


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(judge) as running:
        yield running


@pytest.fixture
def replies() -> Path:
    return write("replies.csv", ["hate_speech", "text", "system"], REPLIES)


# Files

RATE = "rate replies.csv --task cseval --model stub --base-url URL"
COMPARE = "compare replies.csv --model stub --base-url URL"


def _by_a_person(columns: Iterable[str]) -> str:
    """Returns a file with all columns of an output, whose only row is of a person."""
    cells = {name: "human" if name == "rater_kind" else "x" for name in columns}
    return f"{','.join(cells)}\n{','.join(cells.values())}\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{RATE} --out replies.csv", "replies.csv is read, and --out would destroy it: choose another --out"),
        (f"{RATE} --out ./here/../replies.csv", "here/../replies.csv is read, and --out would destroy it: "),
        (f"{RATE} --out linked.csv", "linked.csv is read, and --out would destroy it: "),
        (
            f"{RATE} --out x.csv --response-cache x.csv",
            "x.csv is named by --out and --response-cache: give each a file of its own",
        ),
        (
            f"{RATE} --out x.csv --json x.json --response-cache x.json",
            "x.json is named by --response-cache and --json: give each",
        ),
        (f"{RATE} --out x.csv --json replies.csv", "replies.csv is read, and --json would destroy it: choose another"),
        (f"{RATE} --out x.csv --json prices.yaml --prices prices.yaml", "prices.yaml is read, and --json would"),
        (f"{RATE} --out x.csv --json p.yaml --prompt p.yaml", "p.yaml is read, and --json would destroy it: "),
        (f"{RATE} --out x.csv --model replay:answers.csv --json answers.csv", "answers.csv is read, and --json would "),
        (
            f"{RATE} --out x.csv --response-cache replies.csv",
            "replies.csv is read, and --response-cache would destroy it: choose ",
        ),
        (
            f"{RATE} --out here/x.csv --rating-method grounded --background here",
            "here/x.csv is in the folder here, which ",
        ),
        (
            f"{RATE} --out x.csv --config pairs",
            "configuration file not found: pairs; give a YAML file, or the part of a dataset by --subset",
        ),
        (f"{COMPARE} --out replies.csv", "replies.csv is read, and --out would destroy it: choose another --out"),
        (
            f"{COMPARE} --out x.csv --response-cache x.csv",
            "x.csv is named by --out and --response-cache: give each a file of its ",
        ),
        (
            f"{COMPARE} --out x.csv --response-cache replies.csv",
            "replies.csv is read, and --response-cache would destroy it: choose ",
        ),
        ("audit --ratings replies.csv --json replies.csv", "replies.csv is read, and --json would destroy it: choose "),
        (
            "calibrate replies.csv --ratings r.csv --aspect relevance --model stub --out s.yaml --json s.log.jsonl",
            "s.log.jsonl is named by --out (its log) and --json: give each a file of its own",
        ),
        (
            "calibrate replies.csv --ratings r.csv --aspect relevance --model stub --out s.yaml --json r.csv",
            "r.csv is read, and --json would destroy it: choose another --json",
        ),
        (
            "rubric kindness --definition x --model stub --out s.yaml --response-cache s.yaml",
            "s.yaml is named by --out and --response-cache: give each a file of its own",
        ),
    ],
)
def test_nothing_that_is_read_or_named_twice_is_written(
    replies: Path, server: Server, command: str, message: str
) -> None:
    Path("here").mkdir()
    os.link("replies.csv", "linked.csv")
    for name in ("prices.yaml", "p.yaml", "answers.csv", "r.csv"):
        Path(name).write_text("- x\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in Path().rglob("*.*") if path.is_file()}
    said = fcconan("judge", *command.replace("URL", server.url).split()).complaint
    assert said.startswith(message)
    assert {path: path.read_bytes() for path in Path().rglob("*.*") if path.is_file()} == before
    assert server.requests == []


@pytest.mark.parametrize("command", [RATE, COMPARE])
def test_an_output_of_another_model_is_replaced_by_force_only(replies: Path, server: Server, command: str) -> None:
    words = command.replace("URL", server.url).split()
    fcconan("judge", *words, "--out", "out.csv")
    first = Path("out.csv").read_text(encoding="utf-8")
    fcconan("judge", *words, "--out", "out.csv")
    others = [*words, "--rater-name", "another"]
    assert fcconan("judge", *others, "--out", "out.csv").complaint.startswith("out.csv exists already: choose another")
    assert Path("out.csv").read_text(encoding="utf-8") == first
    fcconan("judge", *others, "--out", "out.csv", "--force")
    assert "another" in Path("out.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("rate --model stub-large", "rate --model stub"),
        ("rate --model stub:large", "rate --model stub"),
        ("rate --model one --model two", "rate --model one"),
        ("rate --model stub --rater-name stub-two", "rate --model stub --rater-name stub"),
        ("rate --model stub --shard 1/2", "rate --model stub --shard 2/2"),
        ("rate --model stub", "rate --model stub --shard 2/2"),
        ("compare --model stub-large", "compare --model stub"),
        ("compare --model stub:large", "compare --model stub"),
    ],
)
def test_only_rows_of_the_same_rater_and_shard_are_replaced(
    replies: Path, server: Server, first: str, second: str
) -> None:
    def run(command: str) -> Any:
        name, *options = command.split()
        task = ("--task", "cseval") if name == "rate" else ()
        return fcconan("judge", name, replies, *task, "--base-url", server.url, "--out", "out.csv", *options)

    assert run(first).status == 0
    before, sent = Path("out.csv").read_bytes(), len(server.requests)
    assert before.count(b"\n") > 1
    assert run(second).complaint == "out.csv exists already: choose another --out, or replace it with --force"
    assert run(first).status == 0  # the same command then continues
    assert (Path("out.csv").read_bytes(), len(server.requests)) == (before, sent)
    assert run(f"{second} --force").status == 0


@pytest.mark.parametrize("command", [RATE, COMPARE])
@pytest.mark.parametrize(
    "text",
    [
        "my notes\n",
        "rater,verdict\nanna,a\n",
        "reply_id,rater,rater_kind,aspect,value\nr-1,anna,human,relevance,3\n",
        "item_id,system_a,system_b,rater,rater_kind,verdict\ni-1,x,y,anna,human,a\n",
        *(_by_a_person(each.kinds) for each in (RATED, COMPARED)),
    ],
)
def test_a_file_of_something_else_is_replaced_by_force_only(
    replies: Path, server: Server, command: str, text: str
) -> None:
    Path("mine.csv").write_text(text, encoding="utf-8")
    said = fcconan("judge", *command.replace("URL", server.url).split(), "--out", "mine.csv").complaint
    assert said == "mine.csv exists already: choose another --out, or replace it with --force"
    assert Path("mine.csv").read_text(encoding="utf-8") == text
    assert server.requests == []


@pytest.mark.parametrize("option", ["--json", "--response-cache", "--out"])
def test_nothing_is_written_into_a_release(demo: Path, server: Server, replies: Path, option: str) -> None:
    place = demo / "replies" / "x.csv" if option == "--out" else demo / "manifest.json"
    told = f"{place} is in the folder {demo}, which holds the release only: choose another {option}"
    for dataset in (demo, replies):
        assert rate(dataset, server, option, place).complaint.startswith(told)
    assert json.loads((demo / "manifest.json").read_text(encoding="utf-8"))["name"] == "demo"
    told = f"{demo / 'j'} is in the folder {demo}, which holds the release only: choose another --response-cache"
    assert rate(demo, server, "--response-cache", demo / "j").complaint == told
    assert server.requests == []


def old_journal(path: Path, line_end: bytes = b"\n") -> int:
    """Makes a journal of an earlier version of the answers in `journal`, which goes; returns its lines."""
    answers = AnswerStore(Path("journal"))
    lines = [old_line(each["request"], each["response"], each["at"], each["seconds"]) for each in records(answers.path)]
    answers.close()
    Path("journal").unlink()
    path.write_bytes(b"".join(lines).replace(b"\n", line_end))
    return len(lines)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_journal_of_an_earlier_version_is_not_paid_for_again(replies: Path, server: Server, line_end: bytes) -> None:
    assert rate(replies, server).status == 0
    sent, ratings = len(server.requests), Path("out.parquet").read_bytes()
    path = Path("old.jsonl")
    assert old_journal(path, line_end) == sent > 0
    whole = path.read_bytes()
    done = rate(replies, server, "--response-cache", path)
    assert done.stderr == f"fcconan: answers imported from old.jsonl into old.sqlite: {sent}\n"
    assert (len(server.requests), Path("out.parquet").read_bytes(), path.read_bytes()) == (sent, ratings, whole)
    again = rate(replies, server, "--response-cache", path)
    assert (again.stderr, len(server.requests)) == ("", sent)
    path.unlink()
    assert rate(replies, server, "--response-cache", path).status == 0
    assert len(server.requests) == sent


def test_what_killed_processes_left_of_a_file_is_removed(replies: Path, server: Server) -> None:
    from fcconan.data.atomic import mark

    stale = Path(mark(".out.json.").replace(str(os.getpid()), str(2**22 + 1)) + "whole")
    stale.touch()
    other = Path(mark(".other.json.").replace(str(os.getpid()), str(2**22 + 1)) + "whole")
    other.touch()
    assert rate(replies, server, "--json", "out.json").status == 0
    assert (stale.exists(), other.exists()) == (False, True)


# Options that do not apply


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("rate replies.csv --task cseval --model stub --out x.csv --background facts", "the judge is shown no backgr"),
        ("rate replies.csv --task cseval --model stub --out x.csv --passages 2", "--passages: only for --background F"),
        (
            "rate replies.csv --task cseval --model stub --out x.csv --steps s.yaml --aspect relevance",
            "calibrated steps require --rating-method auto-cseval, found rubric: leave them out",
        ),
        (
            "rate replies.csv --task cseval --model stub --out x.csv --steps s.yaml --aspect relevance "
            "--rating-method auto-cseval --prompt p.yaml",
            "p.yaml: the prompt lacks the calibrated steps; add {{steps}}",
        ),
        (
            "prompt --task pairwise --rating-method g-eval",
            "--rating-method: only for `fcconan judge rate`, and this is a comparison; l",
        ),
        (
            "prompt --comparison-format judgelm --aspect x",
            "--aspect: only for `fcconan judge rate`, and this is a comparison; le",
        ),
        ("prompt --explain", "--explain: only for --comparison-format judgelm; leave it out"),
        ("prompt --comparison-format none", "Invalid value for '--comparison-format': 'none' is not one of 'choice', "),
        ("compare pairs.csv --model stub --out x.csv", "pairs.csv names no system for its replies, as pairs do not, "),
        ("rate replies.csv --model stub --out x.csv --prices hour.yaml", "hour.yaml, line 1: YAML takes 1:30 for a n"),
        ("rate replies.csv --model stub --out x.csv --prompt half.yaml --dry-run", "half.yaml, line 2: '\\ud800' is h"),
        ("rate replies.csv --model stub --out x.csv --prompt two.yaml", "two.yaml, line 3: not valid YAML (but found "),
        ("rate replies.csv --model stub --out x.csv --task bomb.yaml", "bomb.yaml: its aliases (`*name`) repeat too"),
    ],
)
def test_what_does_not_apply_is_refused(
    replies: Path, server: Server, monkeypatch: pytest.MonkeyPatch, command: str, message: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    passages("facts", OMBREY)
    write("pairs.csv", ["hate_speech", "counter_narrative"], [("x", "y")])
    steps = {"aspect": "relevance", "low": 1, "high": 5, "steps": ["Read."], "signature": "s"}
    Path("s.yaml").write_text(yaml.safe_dump(steps), encoding="utf-8")
    one = "- role: user\n  content: '{{counter_narrative}}'\n"
    Path("p.yaml").write_text(one, encoding="utf-8")
    Path("two.yaml").write_text(f"{one}---\n{one}", encoding="utf-8")
    Path("half.yaml").write_text('- role: user\n  content: "{{texts}} \\ud800"\n', encoding="utf-8")
    Path("hour.yaml").write_text("stub: {input: 1:30, output: 1}\n", encoding="utf-8")
    bomb = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    Path("bomb.yaml").write_text("\n".join(bomb) + "\n", encoding="utf-8")
    assert fcconan("judge", *command.split()).complaint.startswith(message)
    assert server.requests == []


def test_passages_are_none_of_a_dataset_with_knowledge(replies: Path, server: Server) -> None:
    from tests.cli.test_judge_strategies import known

    folder = known("kn", {OMBREY: "They read."})
    asked = ("--task", "grounded", "--rating-method", "grounded", "--background", folder, "--passages", 2)
    assert rate(replies, server, *asked).complaint == (
        "--passages: kn holds knowledge about messages and no passages; leave it out"
    )


# Runs without any result


@pytest.mark.parametrize(
    ("says_", "options", "told"),
    [
        (
            says("A good reply."),
            ("--aspect", "relevance"),
            "4 of 4 are unreadable, the first time for: A good reply.; expected a JSON object with relevance, such as "
            '{"relevance": ...}',
        ),
        (
            says("Good."),
            ("--aspect", "relevance", "--rating-method", "prometheus", "--rename", "references=text"),
            "4 of 4 are unreadable, the first time for: Good.; expected [RESULT] and a grade at the end, such as "
            "[RESULT] 3",
        ),
        (
            says("x"),
            ("--task", "grounded", "--rating-method", "grounded"),
            "20 of 20 are no_background; give --background FOLDER, or --rename background=COLUMN",
        ),
        (
            says("x"),
            ("--aspect", "relevance", "--rating-method", "prometheus"),
            "4 of 4 are no_reference; name a column with --rename references=COLUMN, or "
            "choose a method without references",
        ),
        (
            lambda body, number: Action(400, {"error": {"message": "No \x1b]0;such\x07 field"}}),
            ("--aspect", "relevance"),
            "4 of 4 are bad_request, the first time for: Error code: 400 - No \\x1b]0;such\\x07 field; check the "
            "model's name and options such as --temperature, --max-tokens and --no-structured-output",
        ),
        (
            lambda body, number: error(503),
            ("--aspect", "relevance", "--retries", 0),
            "4 of 4 are server_error, the first time for: Error code: 503 - ",
        ),
    ],
)
def test_a_run_in_which_nothing_was_rated_says_why(
    replies: Path, server: Server, says_: Any, options: tuple[object, ...], told: str
) -> None:
    server.behaviour = says_
    done = rate(replies, server, *options)
    assert (done.status, done.stderr) == (1, "")
    last = done.stdout.splitlines()[-1]
    assert last.partition(" rated nothing: ")[2].startswith(told)
    assert "\x1b" not in done.stdout


def test_comparisons_without_a_verdict_say_why(replies: Path, server: Server) -> None:
    server.behaviour = says("Both.")
    done = compare(replies, server, "--json", "out.json")
    assert done.status == 1
    assert done.stdout.splitlines()[-1] == (
        f"stub compared nothing: 2 of 2 are {rows()[0]['reason']}, the first time for: Both.; expected a JSON object "
        'such as {"better": "a"}, with a, b or tie'
    )
    assert summary()["used"][0]["requests"] == 4


def test_one_of_two_judges_without_ratings_is_told_of_and_no_failure(replies: Path, server: Server) -> None:
    server.behaviour = lambda body, number: says("x")(body, number) if body["model"] == "other" else judge(body, number)
    done = rate(replies, server, "--model", "other", "--aspect", "relevance")
    assert done.status == 0
    assert "other:rubric rated nothing: 4 of 4 are unreadable" in done.stdout
    assert "stub:rubric rated nothing" not in done.stdout


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (lambda number: {"message": f"request {number} has no such field", "code": "x"}, 2),
        (lambda number: {"message": "The content_filter took it", "code": "content_filter"}, 1),
        (lambda number: {"message": f"no {'abc'[number % 3] * 3}"}, 1),
    ],
    ids=["alike", "of the texts", "of several kinds"],
)
def test_a_run_that_is_refused_as_a_whole_is_stopped(
    server: Server, refusal: Callable[[int], Any], status: int
) -> None:
    dataset = write("many.csv", ["hate_speech", "text"], [(OMBREY, f"No, {n} books.") for n in range(60)])
    server.behaviour = lambda body, number: Action(400, {"error": refusal(number)})
    done = rate(dataset, server, "--aspect", "relevance", "--no-structured-output", "--concurrency", 1)
    assert done.status == status
    if status == 2:
        assert done.stderr.startswith("fcconan: the first 20 requests to stub were refused for the same reason (")
        assert 20 <= len(server.requests) < 60
        assert not Path("out.parquet").exists()
    else:
        assert len(server.requests) == 60


def test_a_run_that_reaches_no_endpoint_is_stopped(server: Server) -> None:
    dataset = write("many.csv", ["hate_speech", "text"], [(OMBREY, f"No, {n} books.") for n in range(60)])
    server.behaviour = lambda body, number: Action(drop=True)
    done = rate(dataset, server, "--aspect", "relevance", "--concurrency", 1, "--retries", 0)
    assert done.status == 2
    assert done.stderr.startswith("fcconan: the first 20 requests to stub reached no endpoint (")
    assert done.stderr.endswith("check --base-url and whether the server runs; the same command then continues\n")
    assert 20 <= len(server.requests) < 60
    assert not Path("out.parquet").exists()


# Limits, cost


def test_tokens_and_cost_of_what_was_sent_are_told(replies: Path, server: Server) -> None:
    Path("prices.yaml").write_text("stub: {input: 1000, output: 10000}\n", encoding="utf-8")
    priced = ("--prices", "prices.yaml", "--json", "out.json")
    done = rate(replies, server, *priced, "--verbose")
    used = {"model": "stub", "requests": 16, "prompt_tokens": 16 * 7, "completion_tokens": 16 * 3}
    used |= {"requests_without_count": 0}
    by = {"model": "stub-stub", "system_fingerprint": None}
    new: dict[str, Any] = {"answers": 16, "from_store": 0, "stored_first": None, "stored_last": None}
    new |= {"cost": 16 * (7 * 1000 + 3 * 10000) / 1e6, "answered_by": [by | {"from_store": 0, "new": 16}]}
    assert summary()["used"] == [used | new]
    assert "stored ones" not in done.stdout
    assert "Requests of this run" in done.stdout and "0.592" in done.stdout
    again = rate(replies, server, *priced)
    assert again.status == 0 and "Requests of" not in again.stdout
    days = [each["at"][:10] for each in records(Path("journal"))]
    period = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    assert f"stub: 16 of 16 answers are from the store, of {period}; --fresh repeats the requests" in again.stdout
    nothing = {"requests": 0, "prompt_tokens": 0, "completion_tokens": 0, "requests_without_count": 0}
    (found,) = summary()["used"]
    stored = {"answers": 16, "from_store": 16, "answered_by": [by | {"from_store": 16, "new": 0}]}
    assert found.items() >= {"model": "stub", **nothing, "cost": 0.0, **stored}.items()
    assert [found[name][:10] for name in ("stored_first", "stored_last")] == [min(days), max(days)]
    assert compare(replies, server, "--json", "out.json", out="compared.parquet").status == 0
    tokens = {"prompt_tokens": 4 * 7, "completion_tokens": 4 * 3, "requests_without_count": 0}
    assert summary()["used"][0].items() >= {"model": "stub", "requests": 4, **tokens, "from_store": 0}.items()
    assert summary()["used"][0]["cost"] is None
    assert fcconan("judge", "rate", replies, "--model", recorded(), "--out", "l.csv", "--json", "out.json").status == 0
    assert summary()["used"] == []


def test_requests_that_may_have_been_charged_without_a_count_are_told(replies: Path, server: Server) -> None:
    def behaviour(body: Body, number: int) -> Action:
        action = judge(body, number)
        if number == 1:
            return Action(body=completion(body, "x"), cut=True)
        if number == 2:
            action.body.pop("usage")
        return error(429) if number == 3 else action

    server.behaviour = behaviour
    asked = ("--aspect", "relevance", "--retries", 0, "--concurrency", 1, "--json", "out.json")
    assert rate(replies, server, *asked).status == 1
    (used,) = summary()["used"]
    assert (used["requests"], used["prompt_tokens"], used["requests_without_count"]) == (4, 7, 2)


# Calibration rehearsed


def test_a_rehearsed_calibration_counts_tokens_and_cost(
    rated: Path,  # noqa: F811
    server: Server,
) -> None:
    server.behaviour = counts
    Path("prices.yaml").write_text("stub: {input: 1, output: 10}\n", encoding="utf-8")
    asked = ("--aspect", "relevance", "--prices", "prices.yaml", "--json", "out.json")
    done = calibrate(server, *asked, "--dry-run")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.startswith("Requests, at most (nothing was sent)")
    assert server.requests == [] and not Path("steps.yaml").exists() and not Path("journal").exists()
    drafting, judging = summary()["dry_run"]
    assert (drafting["asked_for"], judging["asked_for"]) == ("drafts", "ratings")
    assert calibrate(server, *asked).status == 0
    sent = drafts(server)
    # Two drafts, and four edits of the one that is kept.
    assert drafting["calls"] == len(sent) == 6
    tokens = sum(-(-len(each["content"].encode()) // 4) for body in sent for each in body["messages"])
    assert tokens <= drafting["prompt_tokens_about"] < 1.3 * tokens  # all but one example may have errors
    assert drafting["completion_tokens_at_most"] == 6 * 1024
    assert len(server.requests) - len(sent) <= judging["calls"]
    assert 0 < judging["cost_about"] < judging["cost_at_most"]
    assert summary()["used"][0]["requests"] == len(server.requests)
    again = calibrate(server, "--aspect", "relevance", "--dry-run", "--prices", "none.yaml")
    assert again.complaint.startswith("none.yaml")


# What `prompt` prints


@pytest.mark.parametrize(
    "protocol", [(), ("--comparison-format", "choice"), ("--comparison-format", "judgelm", "--explain")]
)
def test_prompts_of_comparisons_are_prompt_files_of_compare(
    replies: Path, server: Server, protocol: tuple[str, ...]
) -> None:
    server.behaviour = lambda body, number: Action(body=completion(body, '{"better": "tie"}'))
    named = protocol or ("--task", "pairwise")
    pattern = fcconan("judge", "prompt", *named).stdout
    assert (pattern.count("{{reply_1}}"), pattern.count("{{reply_2}}")) == (1, 1)
    first = fcconan("judge", "prompt", *named, "--dataset", replies)
    assert (first.status, first.stderr) == (0, "")
    asked = (*protocol, "--orders", "ab", "--retries", 0, "--concurrency", 1)
    compare(replies, server, *asked)
    shown = yaml.safe_load(first.stdout)
    assert server.bodies[0]["messages"] == shown
    Path("own.yaml").write_text(pattern, encoding="utf-8")
    own = fcconan("judge", "prompt", *named, "--prompt", "own.yaml", "--dataset", replies)
    server.requests.clear()
    compare(replies, server, *asked, "--prompt", "own.yaml", "--response-cache", "other")
    if protocol != (
        "--comparison-format",
        "judgelm",
        "--explain",
    ):  # which puts a bar before lines of texts, not of variables
        assert shown == yaml.safe_load(own.stdout)
    assert server.bodies[0]["messages"] == yaml.safe_load(own.stdout)


def test_prompts_of_several_aspects_are_documents_of_their_own(replies: Path) -> None:
    done = fcconan("judge", "prompt", "--task", "cseval")
    found = list(yaml.safe_load_all(done.stdout))
    assert [[each["role"] for each in messages] for messages in found] == [["system", "user"]] * 4
    filled = fcconan("judge", "prompt", "--task", "cseval", "--dataset", replies).stdout
    assert len(list(yaml.safe_load_all(filled))) == 4


def test_judgelm_may_have_more_tokens_without_explaining(replies: Path, server: Server) -> None:
    server.behaviour = says("8 3")
    asked = ("--comparison-format", "judgelm", "--orders", "ab")
    assert compare(replies, server, *asked).status == 0
    assert compare(replies, server, *asked, "--max-tokens", 200).status == 0
    assert Counter(body["max_tokens"] for body in server.bodies) == {32: 2, 200: 2}


# What is printed


def test_counts_of_labels_are_called_so(replies: Path, server: Server) -> None:
    server.behaviour = says('{"label": "appropriate"}')
    done = rate(replies, server, "--task", "appropriateness")
    assert done.status == 0
    assert [row["label"] for row in rows()] == ["appropriate"] * 4
    assert "┃ labels " in done.stdout and "┃ mean " not in done.stdout
    assert "appropriate 4" in done.stdout


def test_names_that_look_like_markup_are_printed_as_they_are() -> None:
    table = [{"reply_id": f"r{n}", "aspect": "x", "value": 3 + n % 2, "low": 1, "high": 5} for n in range(5)]
    for name in ("judge[/b]", "gpt[v2]"):
        named = [json.dumps({**row, "rater": name, "rater_kind": "model"}) for row in table]
        Path("m.jsonl").write_text("\n".join(named), encoding="utf-8")
        done = fcconan("judge", "audit", "--ratings", "m.jsonl", "--resamples", 100)
        assert (done.status, done.stderr) == (0, "")
        assert f"{name} " in done.stdout


# What the documents say


def test_the_prompt_and_the_outputs_of_the_documents_can_be_used(server: Server) -> None:
    document = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    prompt = document.partition("### A prompt of your own")[2].partition("```yaml\n")[2].partition("```")[0]
    outputs = document.partition('```csv title="answers.csv"\n')[2].partition("```")[0]
    Path("own.yaml").write_text(prompt, encoding="utf-8")
    Path("answers.csv").write_text(outputs, encoding="utf-8")
    dataset = write("replies.csv", ["hate_speech", "text"], [(OMBREY, "Which of them did you ask?")])
    asked = ("--task", "cseval", "--aspect", "relevance", "--prompt", "own.yaml")
    server.behaviour = says('{"relevance": 3}')
    assert rate(dataset, server, *asked).status == 0
    assert [row["value"] for row in rows()] == [3.0]
    assert OMBREY in server.bodies[0]["messages"][0]["content"]
    replayed = ("--task", "cseval", "--aspect", "relevance", "--model", "replay:answers.csv", "--out", "r.parquet")
    assert fcconan("judge", "rate", dataset, *replayed).status == 0
    assert [row["value"] for row in rows("r.parquet")] == [4.0]
