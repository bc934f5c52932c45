"""`fcconan evaluate-generators`: from a suite file to a report, with figures worked out by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from scipy.optimize import minimize

from fcconan.building.builds import build
from fcconan.data.content import content_folder
from fcconan.data.files import read_rows
from fcconan.data.ids import make_cn_id, make_hs_id, make_item_id
from fcconan.data.tables import open_table
from tests.cli.judging import fcconan, longer, rated
from tests.cli.scored import write_rows
from tests.models.server import KEY, Body, Server, error, says
from tests.models.tiny_chat import TEXTS, tiny_chat

# Message, what people answer, what the model is trained to say, and what the catalogue has for it.
ASKED = (TEXTS[0], TEXTS[2], TEXTS[4], TEXTS[5])
PEOPLE = (
    "The list of the library shows that the Ombrey return books early.",
    "Cards are banned in Tessok towns.",
    "Singing at night harms nobody, and many neighbours enjoy it.",
    "The inspector praised them, and customers come back.",
)
LEARNT = (
    "The library shows books come back early.",
    "Nobody plays cards there.",
    "They sing well.",
    "I cannot help with that.",
)
CATALOGUE = (
    "Ombrey families return every book.",
    "No Tessok cheats: the baker asked.",
    "The moon belongs to the Dravene, too.",
    "Quillish shops have the highest mark.",
)
SYSTEMS = ("gold", "tfidf", "tiny")  # as comparisons name them: a before b
REPLIES = dict(zip(SYSTEMS, (PEOPLE, CATALOGUE, LEARNT), strict=True))
# The verdicts of the judge on gold-tfidf, gold-tiny, tfidf-tiny, for each message. `first` prefers what is shown first,
# which makes a tie; `?` says nothing that can be read.
VERDICTS = (("a", "a", "b"), ("a", "tie", "b"), ("b", "first", "a"), ("a", "a", "?"))
GRADES = {"gold": (5, 4, 3, 4), "tfidf": (2, 3, None, 3), "tiny": (4, 3, 2, 1)}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    says = [""] * len(TEXTS)
    for text, reply in zip(ASKED, LEARNT, strict=True):
        says[TEXTS.index(text)] = reply
    return tiny_chat(folder, says=says)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _pairs() -> Iterator[tuple[int, str, str, str]]:
    for place, verdicts in enumerate(VERDICTS):
        for (a, b), verdict in zip((("gold", "tfidf"), ("gold", "tiny"), ("tfidf", "tiny")), verdicts, strict=True):
            yield place, a, b, verdict


def _suite(**changes: Any) -> Path:
    """Writes messages, catalogue, recorded judges and a suite without a model, and returns the suite."""
    messages = [{"hate_speech": text, "references": [people]} for text, people in zip(ASKED, PEOPLE, strict=True)]
    Path("messages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in messages), encoding="utf-8")
    write_rows(
        Path("pool.csv"),
        [
            {"hate_speech": f"Something else about {place}.", "counter_narrative": text}
            for place, text in enumerate(CATALOGUE)
        ],
    )
    write_rows(
        Path("grades.csv"),
        [
            {
                "hate_speech": ASKED[place],
                "counter_narrative": REPLIES[system][place],
                "output": "no idea" if grade is None else json.dumps({"relevance": grade}),
            }
            for system, grades in GRADES.items()
            for place, grade in enumerate(grades)
        ],
    )
    second = {"a": "b", "b": "a", "tie": "tie", "first": "a", "?": "?"}
    write_rows(
        Path("verdicts.csv"),
        [
            {
                "hate_speech": ASKED[place],
                "reply_1": REPLIES[one][place],
                "reply_2": REPLIES[other][place],
                "output": "who knows" if said == "?" else json.dumps({"better": said}),
            }
            for place, a, b, verdict in _pairs()
            for one, other, said in ((a, b, "a" if verdict == "first" else verdict), (b, a, second[verdict]))
        ],
    )
    suite = {
        "name": "invented",
        "dataset": "messages.jsonl",
        "resamples": 50,
        "systems": {
            "gold": {"strategy": "reference"},
            "tfidf": {"strategy": "retrieval", "retriever": "tfidf", "pool": "pool.csv"},
        },
        "metrics": ["rouge-l", "length-words"],
        "ratings": [{"model": "replay:grades.csv", "task": "cseval", "aspect": ["relevance"]}],
        "comparisons": [{"model": "replay:verdicts.csv"}],
    }
    path = Path("suite.yaml")
    path.write_text(yaml.safe_dump({**suite, **changes}, sort_keys=False), encoding="utf-8")
    return path


def _with_model(model: Path, **changes: Any) -> Path:
    tiny = {"model": f"local:{model}", "task": "message", "max_tokens": 30, **changes}
    suite = yaml.safe_load(_suite().read_text(encoding="utf-8"))
    return _suite(systems={**suite["systems"], "tiny": tiny})


def _json(name: str) -> Any:
    return json.loads(Path("out", name).read_text(encoding="utf-8"))


def _statuses(*options: object) -> dict[str, str]:
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", "--json", "summary.json", *options)
    assert done.stderr == "", done
    steps = json.loads(Path("summary.json").read_text(encoding="utf-8"))["steps"]
    return {step["step"]: step["status"] for step in steps}


def _bytes() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path("out").rglob("*")) if path.is_file()}


def _bradley_terry() -> list[float]:
    """The strengths of `SYSTEMS` by a general optimiser, from the verdicts counted by hand."""
    wins = np.array([[0, 3, 3], [1, 0, 1], [1, 2, 0]])  # gold and tiny: two wins and two ties; tfidf and tiny: 1 to 2

    def loss(strengths: Any) -> float:
        odds = strengths[:, None] - strengths[None, :]
        return float((wins * np.log1p(np.exp(-odds))).sum() + 0.01 / 2 * (strengths**2).sum())

    found = minimize(loss, np.zeros(3), jac="3-point", options={"gtol": 1e-8}).x
    return [float(each) for each in found - found.mean()]


def test_from_a_memorising_model_to_a_report(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    _with_model(model)
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", "--json", "summary.json")
    # One grade and one verdict cannot be read, which is a failure to be told of.
    assert (done.status, done.stderr) == (1, ""), done
    assert json.loads(Path("summary.json").read_text())["missing"] == {"replies": 0, "ratings": 1, "verdicts": 1}

    replies = list(read_rows(Path("out/replies.parquet")))
    said = {name: tuple(row["text"] for row in replies if row["system"] == name) for name in SYSTEMS}
    assert said == REPLIES
    assert replies[0]["item_id"] == make_item_id(make_hs_id(ASKED[0]), [make_cn_id(PEOPLE[0])])
    assert [row["flags"] for row in replies if row["system"] == "tiny"] == [[], [], [], ["refusal:request"]]
    assert _json("safety.json")["systems"]["tiny"]["flags"]["refusal"]["count"] == 1
    assert _json("safety.json")["systems"]["gold"]["flags"]["refusal"]["count"] == 0

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    rouge = [scorer.score(one, other)["rougeL"].fmeasure for one, other in zip(PEOPLE, LEARNT, strict=True)]
    values = {(row["system"], row["metric"]): row["value"] for row in _json("metrics.json")["rows"]}
    assert values["tiny", "rouge-l"] == pytest.approx(sum(rouge) / 4, abs=1e-12)
    assert rouge[0] == pytest.approx(2 * 5 / (7 + 12), abs=1e-12)  # the library shows books early
    assert values["tiny", "length-words"] == pytest.approx((7 + 4 + 3 + 5) / 4, abs=1e-12)
    assert values["gold", "rouge-l"] is None  # whoever is compared with himself is always right

    means = {row["system"]: (row["value"], row["n"], row["n_missing"]) for row in _json("leaderboard.json")["rows"]}
    assert means["gold"] == (4.0, 4, 0)
    assert means["tfidf"] == (pytest.approx(8 / 3), 3, 1)
    assert means["tiny"] == (2.5, 4, 0)

    found = {row["name"]: row for row in _json("rank.json")["systems"]}
    # Eleven verdicts: a message has three, and one cannot be read.
    assert {name: (row["wins"], row["losses"], row["ties"]) for name, row in found.items()} == {
        "gold": (5, 1, 2),
        "tiny": (2, 3, 2),
        "tfidf": (2, 5, 0),
    }
    assert {name: row["points"] for name, row in found.items()} == {"gold": 6.0, "tiny": 3.0, "tfidf": 2.0}
    # Shares are of all eleven points.
    assert [found[name]["share"] for name in SYSTEMS] == pytest.approx([600 / 11, 200 / 11, 300 / 11])
    assert [found[name]["bradley_terry"] for name in SYSTEMS] == pytest.approx(_bradley_terry(), abs=1e-6)
    assert _json("rank.json")["invalid"] == 1
    audit = {row["check"]: row for row in _json("audit.json")["rows"] if row["failure"] is None}
    assert (audit["refusal_wins"]["value"], audit["refusal_wins"]["n"]) == (0.0, 1)

    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "3 systems answered 4 messages of messages.jsonl" in page
    # What gold won of and tied with the others, and the catalogue's only win against it.
    for row in ('<th scope="row">gold</th><td>–</td><td>2 + 2</td><td>3 + 0</td>', "<td>1 + 0</td><td>1 + 0</td>"):
        assert row in page
    assert page.count("<summary>Messages and replies</summary>") == 1
    assert page.index(ASKED[1]) > page.index('<script type="application/json" class="rows">')

    # Once more: nobody is asked anything, and every byte stays.
    before = _bytes()
    with monkeypatch.context() as patch:
        patch.setattr("fcconan.models.local.LocalModel.replies", None)
        patch.setattr("fcconan.models.replay.ReplayModel.replies", None)
        assert set(_statuses().values()) == {"kept"}
    assert _bytes() == before

    _with_model(model, decoding="one-line")
    again = _statuses()
    kept = {name for name, status in again.items() if status == "kept"}
    assert {"replies/gold", "replies/tfidf"} <= kept
    assert {again[name] for name in ("replies/tiny", "replies", "ratings/1", "comparisons/1", "report")} == {"done"}
    assert _json("rank.json")["systems"][0]["points"] == 6.0


def test_the_figures_are_those_of_the_verbs() -> None:
    _suite()
    assert fcconan("evaluate-generators", "suite.yaml", "--out", "out").status == 1  # a grade is missing
    options = ("--strategy", "retrieval", "--retriever", "tfidf", "--pool", "pool.csv", "--system-name", "tfidf")
    fcconan("generate", "messages.jsonl", "--out", "tfidf.parquet", *options)
    assert list(read_rows(Path("tfidf.parquet"))) == list(read_rows(Path("out/replies/tfidf.parquet")))
    rated = ("--model", "replay:grades.csv", "--task", "cseval", "--aspect", "relevance")
    fcconan("judge", "rate", "out/replies.parquet", "--out", "ratings.parquet", *rated)
    assert list(read_rows(Path("ratings.parquet"))) == list(read_rows(Path("out/ratings.parquet")))
    fcconan("rank", "out/comparisons.parquet", "--resamples", 50, "--json", "rank.json")
    assert json.loads(Path("rank.json").read_text()) == _json("rank.json")


def test_a_run_that_is_stopped_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    _suite()
    with monkeypatch.context() as patch:
        patch.setattr("fcconan.services.generator_suite._Evaluation._score", _stop)
        assert fcconan("evaluate-generators", "suite.yaml", "--out", "out").status == 130
    found = _statuses()
    assert found["replies/gold"] == found["ratings/1"] == found["comparisons"] == "kept"
    assert found["rank"] == found["leaderboard"] == found["report"] == "done"


DAMAGED = {
    "suite.json": set(),
    "checkpoints/replies/gold.json": {"replies/gold"},
    "checkpoints/leaderboard.json": {"leaderboard"},
    "replies/gold.parquet": {"replies/gold"},
    "ratings.parquet": {"ratings"},
    "leaderboard.json": {"leaderboard"},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_computed_again(name: str) -> None:
    _suite(comparisons=[], metrics=None)
    _statuses()
    before = _bytes()
    path = Path("out", name)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", "--json", "summary.json")
    assert done.stderr.count("note: ") == len(DAMAGED[name]), done
    assert "Traceback" not in done.stderr
    steps = json.loads(Path("summary.json").read_text())["steps"]
    assert {step["step"] for step in steps if step["status"] != "kept"} == DAMAGED[name]
    assert _bytes() == before


def _stop(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_system_that_fails_leaves_the_others_alone(tmp_path: Path) -> None:
    suite = yaml.safe_load(_suite().read_text(encoding="utf-8"))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text('{"model_type": "llama"}')
    (broken / "model.safetensors").write_text("no weights")
    systems = {**suite["systems"], "broken": {"model": f"local:{broken}", "task": "message"}}
    _suite(systems=systems, comparisons=[], metrics=None)
    found = _statuses()
    assert (found["replies/broken"], found["replies/gold"], found["leaderboard"]) == ("failed", "done", "done")
    replies = [row for row in read_rows(Path("out/replies.parquet")) if row["system"] == "broken"]
    assert [(row["text"], row["reason"]) for row in replies] == [(None, "system_failed")] * 4
    assert "replies/broken failed" in Path("out/report.html").read_text(encoding="utf-8")
    # Once it is taken out, nothing of it stays.
    _suite(comparisons=[], metrics=None)
    assert "replies/broken" not in _statuses()
    assert not _json("suite.json")["problems"]


@pytest.mark.parametrize("whose", [{"system": "them"}, {}], ids=["named", "the only ones"])
def test_replies_from_elsewhere_have_a_row_for_every_message(whose: dict[str, str]) -> None:
    Path("theirs.jsonl").write_text(
        "".join(
            json.dumps({"hate_speech": text, "text": f"Answer {place}.", "system": "them"}) + "\n"
            for place, text in enumerate(ASKED[:3])
        ),
        encoding="utf-8",
    )
    systems = {"theirs": {"from": "theirs.jsonl", **whose}, "gold": {"strategy": "reference"}}
    _suite(systems=systems, ratings=[], comparisons=[], metrics=None)
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out")
    assert done.status == 1, done
    rows = [row for row in open_table("replies", ["out/replies.parquet"]) if row["system"] == "theirs"]
    assert [row["text"] for row in rows] == ["Answer 0.", "Answer 1.", "Answer 2.", ""]
    assert rows[3]["reason"] == "no_reply"


def test_of_several_systems_from_elsewhere_one_is_named() -> None:
    replies = [{"hate_speech": ASKED[0], "text": "It is not so.", "system": name} for name in ("them", "us")]
    Path("theirs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies), encoding="utf-8")
    systems: dict[str, Any] = {"theirs": {"from": "theirs.jsonl"}, "gold": {"strategy": "reference"}}
    _suite(systems=systems, ratings=[], comparisons=[], metrics=None, limit=1)
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out")
    assert done.complaint.endswith("theirs.jsonl has replies of them, us: say whose are meant with `system`"), done
    assert not Path("out/replies").exists()
    # A system of the entry's own name is the one that is meant.
    _suite(systems={"us": {"from": "theirs.jsonl"}}, ratings=[], comparisons=[], metrics=None, limit=1)
    assert fcconan("evaluate-generators", "suite.yaml", "--out", "out").status == 0
    (row,) = read_rows(Path("out/replies.parquet"))
    assert (row["system"], row["text"]) == ("us", "It is not so.")


def test_a_dry_run_counts_calls_and_writes_nothing() -> None:
    Path("prices.yaml").write_text("judge: {input: 1, output: 1}\nwriter: {input: 1, output: 2}\n")
    suite = yaml.safe_load(_suite().read_text(encoding="utf-8"))
    _suite(
        systems={**suite["systems"], "writer": {"model": "writer", "max_tokens": 100}},
        ratings=[{"model": "judge", "task": "cseval", "aspect": ["relevance"]}],
        comparisons=[{"model": "judge", "budget": 5}],
    )
    options = ("--dry-run", "--prices", "prices.yaml", "--json", "asked.json")
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", *options)
    assert (done.status, done.stderr) == (0, ""), done
    asked = json.loads(Path("asked.json").read_text(encoding="utf-8"))["dry_run"]
    # A reply to each of four messages; a grade for each of twelve replies; five pairs in both orders.
    assert [(row["step"], row["calls"]) for row in asked] == [
        ("replies/writer", 4),
        ("ratings/1", 12),
        ("comparisons/1", 10),
    ]
    assert asked[0]["completion_tokens_at_most"] == 400
    assert all(row["cost_at_most"] >= row["cost_about"] > 0 for row in asked)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {
                "systems": {
                    "a": {"strategy": "reference"},
                    "b": {"strategy": "retrieval", "retriever": "nothing", "pool": "pool.csv"},
                }
            },
            "systems.b: unknown system 'nothing'",
        ),
        ({"systems": {"a": {"model": "m", "decoding": "greedier"}}, "comparisons": []}, "unknown decoding 'greedier'"),
        (
            {"ratings": [{"model": "m", "task": "appropriateness"}]},
            "ratings.0: the task appropriateness has labels",
        ),
        ({"ratings": [{"model": "m", "task": "cseval", "aspect": ["beauty"]}]}, "ratings.0:"),
        (
            {"comparisons": [{"model": "m", "protocol": "coin"}]},
            "comparisons.0: protocol: Input should be 'choice' or 'judgelm'",
        ),
    ],
)
def test_what_does_not_go_together_is_found_before_anything_is_generated(
    changes: dict[str, Any], complaint: str
) -> None:
    _suite(**changes)
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out")
    assert "suite.yaml, line " in done.complaint and complaint in done.complaint
    assert not Path("out").exists()


@pytest.mark.long
def test_what_changes_in_place_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build("demo", Path("made")).folder
    systems = {
        "gold": {"strategy": "reference"},
        "nearest": {"strategy": "retrieval"},
        "mine": {"strategy": "retrieval", "retriever": "invented_retriever:First"},
    }
    Path("invented_retriever.py").write_text(_FACTORY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    _suite(dataset="made", limit=2, systems=systems, ratings=[], comparisons=[], metrics=None)
    answers = ("replies/gold", "replies/nearest", "replies/mine")

    def again() -> list[str]:
        found = _statuses()
        return [found[name] for name in answers]

    assert again() == ["done"] * 3
    assert again() == ["kept"] * 3

    with Path("invented_retriever.py").open("a", encoding="utf-8") as file:
        file.write("# Another one.\n")
    assert again() == ["kept", "kept", "done"]

    own = Path("content", "benchmarks", "retrieval.yaml")
    own.parent.mkdir(parents=True)
    own.write_text("name: another\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("fcconan.services.suite_steps.content_folder", lambda: Path("content"))
        assert again() == ["kept", "done", "done"]

    manifest = (folder / "manifest.json").read_bytes()
    part = next(path for path in sorted(folder.rglob("*.parquet")) if "references" in pq.read_schema(path).names)
    table = pq.read_table(part)
    changed = [["Ask the neighbours."] for _ in range(table.num_rows)]
    place = table.schema.get_field_index("references")
    pq.write_table(
        table.set_column(place, table.schema.field(place), pa.array(changed, table.schema.types[place])), part
    )
    assert again() == ["done"] * 3
    assert {row["text"] for row in read_rows(Path("out/replies/gold.parquet"))} == {"Ask the neighbours."}
    assert (folder / "manifest.json").read_bytes() == manifest


_FACTORY = """
class First:
    name = "first"

    def rank(self, queries, documents, k):
        return {query: [(key, -place) for place, key in enumerate(documents)][:k] for query in queries}
"""


def test_a_second_run_into_the_same_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _suite(ratings=[], comparisons=[], metrics=None)
    asked = ("evaluate-generators", "suite.yaml", "--out", "out")
    refused = []
    with monkeypatch.context() as patch:
        patch.setattr(
            "fcconan.services.generator_suite._Evaluation._measure", lambda self: refused.append(fcconan(*asked))
        )
        assert fcconan(*asked).status == 0
    expected = "another process is using out: wait for it or choose another folder"
    assert [done.complaint for done in refused] == [expected]
    assert fcconan(*asked).status == 0
    assert not Path("out/.lock").exists()


def test_a_folder_with_other_things_is_left_alone() -> None:
    _suite()
    Path("out").mkdir()
    Path("out/letter.txt").write_text("Dear Tessok,")
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out")
    assert done.complaint == "out holds files that are not results of a suite: choose another --out"
    assert [path.name for path in Path("out").iterdir()] == ["letter.txt"]


def _answers(body: Body) -> str:
    """Writes as many words as the model's name says; judges by counting them."""
    asked = body["messages"][-1]["content"]
    if body["model"] == "judge":
        return rated(body) if "Texts:\n" in asked else longer(body)
    return " ".join(["So", *asked.split()][: 3 if body["model"] == "short" else 6])


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server(says(_answers)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def _at_endpoint(**long: Any) -> None:
    _suite(
        systems={"short": {"model": "short"}, "long": {"model": "long", **long}},
        ratings=[{"model": "judge", "task": "cseval", "aspect": ["relevance"]}],
        comparisons=[{"model": "judge"}],
        metrics=None,
    )


def test_models_of_one_endpoint_share_a_journal_and_only_what_is_new_is_asked(endpoint: Server) -> None:
    _at_endpoint()
    assert set(_statuses().values()) == {"done"}
    # Eight replies; a grade for each; four pairs in both orders.
    assert [body["model"] for body in endpoint.bodies].count("judge") == 16
    assert len(endpoint.requests) == 24
    ranking = _json("rank.json")["systems"]
    assert [(row["name"], row["wins"]) for row in ranking] == [("long", 4), ("short", 0)]
    board = {row["system"]: row["value"] for row in _json("leaderboard.json")["rows"]}
    assert board == {"long": 2.0, "short": 4.0}  # 1 + 6 % 5, 1 + 3 % 5
    assert set(_statuses().values()) == {"kept"}
    assert len(endpoint.requests) == 24
    _at_endpoint(temperature=0.5)
    again = _statuses()
    assert (again["replies/short"], again["replies/long"], again["rank"]) == ("kept", "done", "done")
    # Its four replies are asked for anew, and are the same ones, which the judge has seen.
    assert [body["model"] for body in endpoint.bodies[24:]] == ["long"] * 4


def test_fresh_asks_all_models_again_once(endpoint: Server) -> None:
    _at_endpoint()
    _statuses()
    assert len(endpoint.requests) == 24
    again = _statuses("--fresh")
    assert [again[step] for step in ("replies/short", "replies/long", "ratings/1", "comparisons/1")] == ["done"] * 4
    assert len(endpoint.requests) == 48
    assert set(_statuses().values()) == {"kept"}
    assert len(endpoint.requests) == 48


def test_what_failed_for_a_passing_reason_is_asked_again(endpoint: Server) -> None:
    good = endpoint.behaviour
    endpoint.behaviour = lambda body, number: error(503) if body["model"] == "long" else good(body, number)
    _at_endpoint()
    found = _statuses("--retries", 0)
    assert (found["replies/short"], found["replies/long"]) == ("done", "incomplete")
    assert _json("suite.json")["missing"] == {"replies": 4, "ratings": 4, "verdicts": 4}
    endpoint.behaviour = good
    found = _statuses("--retries", 0)
    assert (found["replies/short"], found["replies/long"], found["rank"]) == ("kept", "done", "done")
    assert _json("suite.json")["missing"] == {"replies": 0, "ratings": 0, "verdicts": 0}
    assert _json("suite.json")["problems"] == {}
    assert set(_statuses().values()) == {"kept"}


def test_what_is_missing_for_good_is_not_asked_for_again(endpoint: Server) -> None:
    good = endpoint.behaviour
    refuses = says(lambda body: "<think>What shall I say?")  # and never says it
    endpoint.behaviour = lambda body, number: (
        refuses if body["model"] == "long" and TEXTS[0] in str(body["messages"]) else good
    )(body, number)
    _at_endpoint()
    assert fcconan("evaluate-generators", "suite.yaml", "--out", "out").status == 1
    assert _json("suite.json")["missing"]["replies"] == 1
    found = _statuses()
    assert (found["replies/short"], found["replies/long"]) == ("kept", "kept")


def test_what_is_spent_counts_for_all_steps(endpoint: Server) -> None:
    _at_endpoint()
    Path("prices.yaml").write_text("".join(f"{name}: {{input: 0, output: 1000000}}\n" for name in ("short", "long")))
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", "--prices", "prices.yaml", "--max-cost", 9000)
    assert "prices.yaml has no price for judge" in done.complaint
    assert not endpoint.requests
    # A reply may cost 512 and costs 3, so that the second system begins with too little: 510.
    with Path("prices.yaml").open("a") as file:
        file.write("judge: {input: 0, output: 1000000}\n")
    found = _statuses("--prices", "prices.yaml", "--max-cost", 522, "--concurrency", 1)
    assert (found["replies/short"], found["replies/long"]) == ("done", "failed")
    assert "the limit of cost is reached: 12.0000 of 522 is spent" in _json("suite.json")["problems"]["replies/long"]


@pytest.mark.long
def test_the_embedded_example_needs_no_model_and_no_network() -> None:
    example = yaml.safe_load((content_folder() / "benchmarks" / "generation.yaml").read_text(encoding="utf-8"))
    Path("suite.yaml").write_text(yaml.safe_dump({**example, "resamples": 0}, sort_keys=False), encoding="utf-8")
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", "--dry-run")
    assert (done.status, done.stdout) == (0, "No model would get a request.\n")
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out")
    assert (done.status, done.stderr) == (0, ""), done
    assert _json("suite.json")["missing"] == {"replies": 0, "ratings": 0}
    assert list(_json("safety.json")["systems"]) == ["bm25", "gold", "tfidf"]
    assert _json("suite.json")["dataset"]["name"] == "demo"
    assert set(_statuses().values()) == {"kept"}
    part = next(Path("out/dataset").rglob("*.parquet"))
    content = part.read_bytes()
    part.write_bytes(b"somebody was there")
    done = fcconan("evaluate-generators", "suite.yaml", "--out", "out", "--json", "summary.json")
    assert (done.status, done.stderr) == (
        0,
        "note: out/dataset has changed since the step dataset wrote it: the step is repeated\n",
    )
    steps = json.loads(Path("summary.json").read_text())["steps"]
    assert [step["step"] for step in steps if step["status"] != "kept"] == ["dataset"]
    assert part.read_bytes() == content
