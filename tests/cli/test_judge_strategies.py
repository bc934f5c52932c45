"""Strategies and their sources of background knowledge from the command line, against a loopback endpoint."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from fcconan.building.builds import build
from fcconan.data import ids
from fcconan.judging.tasks import load_task
from tests.cli.judging import aspect_of, fcconan, judge, recorded, texts_of
from tests.cli.test_judge import OMBREY, REPLIES, TESSOK, Row, rate, rows, summary, values, write
from tests.models.server import Action, Body, Server, completion, says, use_key

LIBRARY = "The library of the Ombrey has every book that it ever lent."
BAKERS = "Velmari bakers, all of them, rise at three."
GROUNDED = [aspect.name for aspect in load_task("grounded").aspects]
SAID = 'It rests on "every book".'


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


def known(folder: str, texts: dict[str, str]) -> Path:
    """A kn-conan with knowledge about messages."""
    pairs = Path(folder) / "pairs"
    pairs.mkdir(parents=True)
    table = [{"hs_id": ids.make_hs_id(message), "knowledge": text} for message, text in texts.items()]
    pq.write_table(pa.Table.from_pylist(table), pairs / "train-00000-of-00001.parquet")
    return Path(folder)


def passages(folder: str, *texts: str) -> Path:
    Path(folder).mkdir()
    (Path(folder) / "facts.md").write_text("\n\n".join(texts), encoding="utf-8")
    return Path(folder)


GROUNDED_GRADES = [1.25, 2.25, 3.25, 4.25, 4.25]


def grounded(body: Body, number: int) -> Action:
    said = {name: {"score": grade, "explanation": SAID} for name, grade in zip(GROUNDED, GROUNDED_GRADES, strict=True)}
    return Action(body=completion(body, json.dumps(said)))


def as_grounded(dataset: Path, server: Server, *options: object) -> str:
    server.behaviour = grounded
    done = rate(dataset, server, "--task", "grounded", "--rating-method", "grounded", "--json", "out.json", *options)
    assert (done.status, done.stderr) == (0, "")
    return done.stdout


def test_grounded_reads_a_column_of_background(server: Server) -> None:
    table = [(OMBREY, "No.", "one", LIBRARY), (OMBREY, "No!", "two", "They read."), (TESSOK, "Why?", "one", "")]
    dataset = write("replies.csv", ["hate_speech", "text", "system", "facts"], table)
    told = as_grounded(dataset, server, "--rename", "background=facts")
    assert sorted(texts_of(body)["background"] for body in server.bodies) == [LIBRARY, "They read."]
    assert values() == [*GROUNDED_GRADES * 2, *[None] * 5]
    # What the explanation quotes stands in the first background only.
    assert [row["cited"] for row in rows()] == [True] * 5 + [False] * 5 + [None] * 5
    assert [row["reason"] for row in rows()[10:]] == ["no_background"] * 5
    assert {row["strategy"] for row in rows()} == {"grounded"}
    assert told.split("┘\n")[-1].startswith(
        "1 of 2 items have no background knowledge (they have none, and none was given): their replies are not rated\n"
    )
    assert summary()["background"] == {"items": 2, "without": 1}


def test_grounded_finds_the_knowledge_of_a_dataset(replies: Path, server: Server) -> None:
    told = as_grounded(replies, server, "--background", known("kn", {OMBREY: LIBRARY, "Another.": BAKERS}))
    assert [texts_of(body)["background"] for body in server.bodies] == [LIBRARY] * 2
    assert [row["reason"] for row in rows()] == [None] * 10 + ["no_background"] * 10
    assert told.split("┘\n")[-1].startswith(
        "1 of 2 items have no background knowledge (their messages are not in the dataset): their replies are not"
    )
    assert summary()["background"] == {"items": 2, "without": 1}


def test_grounded_finds_passages_and_counts_the_items_without_one(replies: Path, server: Server) -> None:
    """The message about the Tessok shares `every` with a passage, and nothing else."""
    folder = passages("facts", BAKERS, "The Ombrey sing at night.", LIBRARY)
    told = as_grounded(replies, server, "--background", folder, "--passages", 1)
    assert [texts_of(body)["background"] for body in server.bodies] == [LIBRARY] * 2
    assert [row["reason"] for row in rows()] == [None] * 10 + ["no_background"] * 10
    assert told.split("┘\n")[-1].startswith(
        "1 of 2 items have no background knowledge (no passage shares a content word with their "
    )
    assert summary()["background"] == {"items": 2, "without": 1}
    server.requests.clear()
    told = fcconan(
        *("judge", "rate", replies, "--task", "grounded", "--rating-method", "grounded", "--background", folder),
        *("--model", "stub", "--base-url", server.url, "--response-cache", "other", "--out", "o.csv", "--dry-run"),
    ).stdout
    assert "1 of 2 items have no background knowledge (" in told
    assert server.requests == []


def test_background_for_all_is_not_spoken_of(replies: Path, server: Server) -> None:
    told = as_grounded(replies, server, "--background", known("kn", {OMBREY: LIBRARY, TESSOK: BAKERS}))
    assert "background" not in told.partition("Ratings in")[0]
    assert summary()["background"] == {"items": 2, "without": 0}
    server.behaviour = judge
    assert rate(replies, server, "--json", "out.json").status == 0  # a task that shows none
    assert summary()["background"] is None


def test_prometheus_compares_with_a_reference(server: Server) -> None:
    table = [(OMBREY, "No.", "Look into the library."), (TESSOK, "Why?", "")]
    dataset = write("replies.csv", ["hate_speech", "text", "reference"], table)
    server.behaviour = says("Polite, and 2 short. [RESULT] 4")
    assert rate(dataset, server, "--rating-method", "prometheus", "--aspect", "relevance").status == 0
    (body,) = server.bodies
    assert texts_of(body)["reference"] == "Look into the library."
    assert "response_format" not in body
    assert [(row["value"], row["reason"]) for row in rows()] == [(4.0, None), (None, "no_reference")]
    assert rows()[0]["rater"] == "stub:prometheus"


def test_g_eval_weighs_grades_by_their_probability(replies: Path, server: Server) -> None:
    shares = {"4": 0.4, "2": 0.2, " 4": 0.1, "5": 0.1, "four": 0.2}

    def behaviour(body: Body, number: int) -> Action:
        assert (body["logprobs"], body["top_logprobs"], body["temperature"]) == (True, 20, 0)
        answer = completion(body, "4")
        top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
        chosen = {"token": "4", "logprob": math.log(0.4), "top_logprobs": top}
        answer["choices"][0]["logprobs"] = {"content": [chosen]}
        return Action(body=answer)

    server.behaviour = behaviour
    options = ("--rating-method", "g-eval", "--logprobs", "--aspect", "relevance", "--json", "out.json")
    assert rate(replies, server, *options).status == 0
    assert values() == pytest.approx([(2 * 0.2 + 4 * 0.5 + 5 * 0.1) / 0.8] * 4, abs=1e-12)
    assert [row["retained_mass"] for row in rows()] == pytest.approx([0.8] * 4, abs=1e-12)
    assert summary()["rows"][0]["retained_mass"] == pytest.approx(0.8, abs=1e-12)
    assert len(server.requests) == 4


def test_g_eval_at_an_endpoint_without_log_probabilities_has_no_values(replies: Path, server: Server) -> None:
    server.behaviour = says("4")
    assert rate(replies, server, "--rating-method", "g-eval", "--logprobs", "--aspect", "relevance").status == 1
    assert [(row["value"], row["reason"]) for row in rows()] == [(None, "no_logprobs")] * 4


def test_prompt_shows_the_background_that_a_model_will_see(replies: Path, server: Server) -> None:
    asked = (
        "--task",
        "grounded",
        "--rating-method",
        "grounded",
        "--background",
        passages("facts", BAKERS, LIBRARY, OMBREY),
    )
    for number, found in ((1, [OMBREY]), (3, [OMBREY, LIBRARY])):
        done = fcconan("judge", "prompt", *asked, "--dataset", replies, "--passages", number)
        assert (done.status, done.stderr) == (0, "")
        messages = yaml.safe_load(done.stdout)
        assert texts_of({"messages": messages})["background"] == "\n\n".join(found)
        server.requests.clear()
        as_grounded(replies, server, *asked, "--limit", 1, "--passages", number)
        assert [body["messages"] for body in server.bodies] == [messages]


def test_prompt_without_a_reply_that_has_background_is_refused(replies: Path) -> None:
    asked = ("--task", "grounded", "--dataset", replies, "--background", passages("facts", BAKERS))
    said = fcconan("judge", "prompt", *asked).complaint
    assert said == "replies.csv has no reply that can be judged: check its columns"


# Calibration


@pytest.fixture
def rated() -> Path:
    """Thirty messages with a reply each, of which the number of `indeed` is the people's rating; one has no message."""
    table = [(f"The Ombrey of town {n} never read.", "indeed " * (1 + n % 5) + "so", f"r{n}") for n in range(30)]
    write(
        "ratings.csv",
        ["reply_id", "rater", "rater_kind", "aspect", "value", "low", "high"],
        [
            (name, "p1", "human", aspect, str(1 + n % 5), "1", "5")
            for n, (_, _, name) in enumerate(table)
            for aspect in ("relevance", "relatedness")
        ],
    )
    return write("replies.csv", ["hate_speech", "text", "reply_id"], table)


STEPS = ["Count the assertions.", "Give one grade for each."]


def counts(body: Body, number: int) -> Action:
    """Drafts steps that differ by request; with steps of a draft it rates as people do, but each 5 as 1."""
    content = body["messages"][-1]["content"]
    if "Texts:\n" not in content:
        return Action(body=completion(body, json.dumps({"steps": [*STEPS, f"Think {number} times."]})))
    given = texts_of(body)["counter_narrative"].split().count("indeed")
    score = {"score": given % 5 or 1, "explanation": SAID}
    named = "relatedness" if "background" in texts_of(body) else aspect_of(body)
    return Action(body=completion(body, json.dumps({named: score if named == "relatedness" else score["score"]})))


def calibrate(server: Server, *options: object) -> Any:
    return fcconan(
        *("judge", "calibrate", "replies.csv", "--ratings", "ratings.csv", "--model", "stub", "--base-url", server.url),
        *(
            "--response-cache",
            "journal",
            "--out",
            "steps.yaml",
            "--resamples",
            100,
            "--draft-examples",
            2,
            "--trials",
            2,
            "--beam",
            1,
        ),
        *options,
    )


def drafts(server: Server) -> list[Body]:
    return [body for body in server.bodies if "Texts:\n" not in body["messages"][-1]["content"]]


def shown(body: Body) -> Row:
    found: Row = json.loads(body["messages"][-1]["content"])
    return found


def test_calibrate_gives_the_background_that_a_task_wants(rated: Path, server: Server) -> None:
    server.behaviour = counts
    facts = {f"The Ombrey of town {n} never read.": f"Town {n} has a library." for n in range(29)}
    asked = ("--task", "grounded", "--aspect", "relatedness", "--background", known("kn", facts))
    done = calibrate(server, *asked, "--json", "out.json")
    assert (done.status, done.stderr) == (0, "")
    assert "\n1 of 30 rated replies are left out: they lack one of hate_speech, text, background\n" in done.stdout
    result = summary()
    assert sum(part["examples"] for part in result["parts"].values()) == 29
    assert (result["report"]["n_missing"], result["baseline"]["n_missing"]) == (0, 0)
    for body in drafts(server):
        for example in shown(body)["examples"]:
            assert example["background"] == facts[example["hate_speech"]]
    rating = [texts_of(body) for body in server.bodies if "Texts:\n" in body["messages"][-1]["content"]]
    assert len(rating) > 29
    assert all(each["background"] == facts[each["hate_speech"]] for each in rating)


def test_calibrate_gives_references(server: Server, rated: Path) -> None:
    cseval = yaml.safe_load(Path(__file__).parents[2].joinpath("annotations/cseval/task.yaml").read_text("utf-8"))
    cseval["context"] = ["hate_speech", "references"]
    Path("own.yaml").write_text(yaml.safe_dump(cseval), encoding="utf-8")
    asked = ("--task", "own.yaml", "--aspect", "relevance")
    assert calibrate(server, *asked).complaint == (
        "none of the 30 rated replies in replies.csv has all of hate_speech, text, references: name its columns with "
        "--rename"
    )
    server.behaviour = counts
    assert calibrate(server, *asked, "--refinement-rounds", 0, "--rename", "references=reply_id").status == 0
    assert {example["reference"][0] for body in drafts(server) for example in shown(body)["examples"]} == {"r"}


@pytest.mark.parametrize("options", [(), ("--background", "facts")])
def test_calibrate_refuses_a_task_whose_background_is_not_there(
    rated: Path, server: Server, options: tuple[str, ...]
) -> None:
    passages("facts", BAKERS)
    assert calibrate(server, "--task", "grounded", "--aspect", "relatedness", *options).complaint == (
        "none of the 30 rated replies in replies.csv has all of hate_speech, text, background: give --background"
    )
    assert server.requests == []


@pytest.mark.long
def test_calibrate_takes_its_settings_from_options(rated: Path, server: Server) -> None:
    server.behaviour = counts
    asked = ("--aspect", "relevance", "--refinement-examples", 1, "--refinements", 2, "--min-coverage", 0.5)
    options = ("--draft-temperatures", "0.7,0.9", "--drafter-max-tokens", 77, "--json", "out.json")
    assert calibrate(server, *asked, *options).status == 0
    first, refined = drafts(server)[:2], drafts(server)[2:]
    assert [0.7 <= body["temperature"] <= 0.9 for body in first] == [True, True]
    assert first[0]["temperature"] != first[1]["temperature"]
    assert len(refined) == 4 * 2  # edits, each asked for twice
    assert [body["temperature"] for body in refined] == [0.9] * 8
    assert {body["max_tokens"] for body in drafts(server)} == {77}
    assert {len(shown(body)["examples"]) for body in refined} == {1}
    # The worst predicted example: people say 5, the judge 1.
    assert {(each["expert_grade"], each["given_grade"]) for body in refined for each in shown(body)["examples"]} == {
        (5, 1)
    }
    settings = summary()["settings"]
    assert (settings["temperatures"], settings["max_tokens"], settings["errors"]) == ([0.7, 0.9], 77, 1)
    assert (settings["refinements"], settings["least_predicted"]) == (2, 0.5)


@pytest.mark.long
def test_calibrate_counts_what_failed_and_a_further_run_asks_it_again(rated: Path, server: Server) -> None:
    broken = True

    def behaviour(body: Body, number: int) -> Action:
        drafted = "Texts:\n" not in body["messages"][-1]["content"]
        down = broken and (number == 0 if drafted else "town 7 " in texts_of(body)["hate_speech"])
        return Action(503, "down") if down else counts(body, number)

    server.behaviour = behaviour
    asked = ("--aspect", "relevance", "--refinement-rounds", 0, "--retries", 0, "--json", "out.json")
    done = calibrate(server, *asked)
    result, sent = summary(), len(server.requests)
    failed = result["failed_requests"]
    missing = sum(result[name]["n_missing"] for name in ("selection", "report", "baseline"))
    assert (done.status, result["failed_drafts"], failed > 1, failed - 1 == missing) == (1, 1, True, True)
    assert f"{failed} requests failed for a passing reason, which may have changed the result: run" in done.stdout
    broken = False
    assert calibrate(server, *asked).status == 0
    assert summary()["failed_requests"] == 0
    assert len(server.requests) > sent


@pytest.mark.long
@pytest.mark.parametrize(("given", "sent"), [("model", {None}), ("0.3", {0.3})])
def test_calibrate_samples_at_one_temperature_or_at_the_models_own(
    rated: Path, server: Server, given: str, sent: set[float | None]
) -> None:
    server.behaviour = counts
    assert (
        calibrate(server, "--aspect", "relevance", "--draft-temperatures", given, "--refinement-rounds", 0).status == 0
    )
    assert {body.get("temperature") for body in drafts(server)} == sent


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--draft-temperatures", "warm"),
            "--draft-temperatures is 'warm': give LOW,HIGH such as 0,0.5, one number, or model",
        ),
        (
            ("--draft-temperatures", "0,1,2"),
            "--draft-temperatures is '0,1,2': give LOW,HIGH such as 0,0.5, one number, or model",
        ),
        (
            ("--draft-temperatures", "nan"),
            "--draft-temperatures is 'nan': give LOW,HIGH such as 0,0.5, one number, or model",
        ),
        (("--draft-temperatures", "1,0"), "temperatures are [1.0, 0.0]: give the lower one first, from 0"),
        (("--refinements", "0"), "Invalid value for '--refinements': Input should be greater than or equal to 1 ("),
        (("--min-coverage", "2"), "Invalid value for '--min-coverage': Input should be less than or equal to 1 ("),
        (("--drafter-max-tokens", "0"), "Invalid value for '--drafter-max-tokens': "),
    ],
)
def test_settings_that_cannot_be_are_refused(
    rated: Path, server: Server, options: tuple[str, ...], message: str
) -> None:
    assert calibrate(server, "--aspect", "relevance", *options).complaint.startswith(message)
    assert server.requests == []


# A config given for the dataset


@pytest.mark.parametrize(
    "command",
    [
        "rate {} --model stub --out out.csv",
        "compare {} --model stub --out out.csv",
        "calibrate {} --aspect relevance --model stub --out out.yaml",
        "prompt --dataset {}",
        "audit --ratings ratings.csv --replies {}",
    ],
)
def test_a_config_in_the_place_of_its_dataset_is_told_from_one(command: str) -> None:
    Path("demo/replies").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([{"text": "No."}]), "demo/replies/test-00000-of-00001.parquet")
    Path("ratings.csv").write_text("reply_id,rater,aspect,value\nr1,anna,tone,3\n", encoding="utf-8")
    told = "is the config replies of a dataset, not its folder: give demo"
    assert fcconan("judge", *command.format("demo/replies").split()).complaint == f"demo/replies {told}"


def test_a_config_that_is_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build("demo", tmp_path / "demo", progress=False)
    monkeypatch.chdir(tmp_path / "demo" / "replies")
    said = fcconan("judge", "rate", ".", "--model", "stub", "--out", tmp_path / "out.csv").complaint
    assert said == f". is the config replies of a dataset, not its folder: give {tmp_path / 'demo'}"
    monkeypatch.chdir(tmp_path)
    assert fcconan("judge", "rate", "demo", "--model", recorded(), "--out", "out.csv").status == 0
