"""`judge calibrate` and `judge rubric`, with models that answer by rule."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from scipy.stats import spearmanr

from fcconan import Bootstrap, InputError, calibrate, draft_rubric, rate
from fcconan.judging import load_rubric
from fcconan.models import ChatRequest, ChatResponse
from tests.conftest import RunCli
from tests.models.server import Server, says, use_key

N = 40  # messages, with a reply each; people's grade of reply n is n % 5 + 1
ROWS = [
    {
        "reply_id": f"r{n}",
        "item_id": f"i{n}",
        "hs_id": f"h{n}",
        "system": "one",
        "hate_speech": f"Message {n} about the Tessok.",
        "text": f"Reply {n}: they play cards.",
    }
    for n in range(N)
]
RATINGS = [
    {"reply_id": f"r{n}", "rater": "anna", "rater_kind": "human", "aspect": "relevance", "value": n % 5 + 1}
    for n in range(N)
]
STEPS = {"good": ["Look for cards."], "bad": ["Count the words."]}


class Rule:
    """A model that answers by a function of the request."""

    def __init__(self, answer: Callable[[ChatRequest], str | None], name: str = "rule") -> None:
        self.name, self.identity, self.answer = name, dict[str, Any](), answer
        self.calls: list[ChatRequest] = []

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        for call in calls:
            self.calls.append(call)
            said = self.answer(call)
            yield ChatResponse(reason="timeout") if said is None else ChatResponse(said)


def number_of(call: ChatRequest) -> int:
    return int(call.variables["counter_narrative"].split()[1].rstrip(":"))


def grade(call: ChatRequest) -> str | None:
    """People's grade by the good steps; one off for every third reply by the bad ones; reversed by others."""
    n = number_of(call)
    prompt, value = call.messages[-1]["content"], n % 5 + 1
    if STEPS["good"][0] in prompt:
        return json.dumps({"relevance": value})
    if STEPS["bad"][0] in prompt:
        return json.dumps({"relevance": max(1, value - 1) if n % 3 else 5})
    return json.dumps({"relevance": 6 - value})


def write(call: ChatRequest) -> str:
    """The bad steps as drafts, and the good ones as the edit `add`."""
    added = "one or two for what they overlook" in call.messages[0]["content"]
    return json.dumps({"steps": STEPS["good" if added else "bad"]})


def run(tmp_path: Path, **given: Any) -> Any:
    how: dict[str, Any] = {"aspect": "relevance", "model": Rule(grade), "drafter": Rule(write, "writer")}
    how |= {"ratings": RATINGS, "out": tmp_path / "steps.yaml", "bootstrap": Bootstrap(resamples=200)}
    return calibrate(given.pop("replies", ROWS), **how | given)


def test_the_refined_steps_win_and_the_parts_are_apart(tmp_path: Path) -> None:
    judge = Rule(grade)
    found = run(tmp_path, model=judge)
    tables = found.tables
    candidates = tables["candidates"]
    # Ten drafts with equal steps, then four edits of the only usable one, of which `add` writes the good steps.
    assert candidates["status"].tolist() == ["usable", *["duplicate"] * 9, *["duplicate"] * 2, "usable", "duplicate"]
    assert candidates["how"].tolist() == [*["draft"] * 10, "modify", "paraphrase", "add", "calibrate"]
    assert tables["steps"]["step"].tolist() == STEPS["good"]
    assert tables["parts"]["examples"].tolist() == [8, 16, 16] and tables["parts"]["shared_texts"].sum() == 0
    scores = tables["scores"].set_index("steps")["value"]
    assert scores["calibrated steps"] == pytest.approx(1) and scores["the task's own steps"] == pytest.approx(-1)
    assert tables["gain"]["difference"].tolist() == [pytest.approx(2)]
    # Replies of the parts, by who was asked about them: drafts on the second, their errors on the first.
    asked = [number_of(call) for call in judge.calls]
    select, draft, report = {*asked[:16]}, {*asked[16:24]}, {*asked[-16:]}
    assert len(select) + len(draft) + len(report) == N and select | draft | report == {*range(N)}
    by_bad = [json.loads(grade(ChatRequest([{"role": "user", "content": STEPS["bad"][0]}], variables=v)) or "")
              for v in ({"counter_narrative": f"Reply {n}:"} for n in sorted(select))]  # fmt: skip
    expected = spearmanr([each["relevance"] for each in by_bad], [n % 5 + 1 for n in sorted(select)]).statistic
    assert candidates["value"][0] == pytest.approx(expected, abs=1e-12)


def test_a_refinement_shows_the_largest_errors(tmp_path: Path) -> None:
    judge, writer = Rule(grade), Rule(write)
    run(tmp_path, model=judge, drafter=writer)
    draft = [number_of(call) for call in judge.calls[16:24]]
    by_bad = {n: abs((max(1, n % 5) if n % 3 else 5) - (n % 5 + 1)) for n in draft}
    worst = sorted(draft, key=lambda n: -by_bad[n])[:3]
    shown = json.loads(writer.calls[10].messages[1]["content"])
    assert [int(each["counter_narrative"].split()[1][:-1]) for each in shown["examples"]] == worst
    assert shown["steps"] == STEPS["bad"] and writer.calls[10].sampling.temperature == 0.5
    sizes = [len(json.loads(call.messages[1]["content"])["examples"]) for call in writer.calls[:10]]
    assert sizes == [3] * 5 + [6] * 5


def test_the_file_of_steps_is_read_again(tmp_path: Path) -> None:
    found = run(tmp_path)
    judge = Rule(grade)
    how: Any = {"task": "cseval", "aspect": ("relevance",), "rating_method": "auto-cseval"}
    rated = rate(ROWS, model=judge, steps=(tmp_path / "steps.yaml",), **how).tables["ratings"]
    assert STEPS["good"][0] in judge.calls[0].messages[-1]["content"]
    assert rated["value"].tolist() == [n % 5 + 1 for n in range(N)]
    written = yaml.safe_load((tmp_path / "steps.yaml").read_text())
    assert written["signature"] == found.signature and written["gain"]["value"] == pytest.approx(2)
    log = [json.loads(line) for line in (tmp_path / "steps.log.jsonl").read_text().splitlines()]
    assert len(log) == 14 and log[12]["steps"] == STEPS["good"]
    (tmp_path / "steps.yaml").write_text("aspect: relevance\nlow: 1\nhigh: 7\nsteps: [Read.]\n")
    with pytest.raises(InputError, match="is for grades from 1 to 7, expected 1 to 5"):
        rate(ROWS, model=judge, steps=(tmp_path / "steps.yaml",), **how)


def test_failed_ratings_are_missing_and_too_many_of_them_exclude_a_candidate(tmp_path: Path) -> None:
    def half(call: ChatRequest) -> str | None:
        return None if number_of(call) % 2 and STEPS["good"][0] in call.messages[-1]["content"] else grade(call)

    found = run(tmp_path, model=Rule(half))
    assert found.tables["candidates"]["status"][12] == "too_many_missing"
    assert found.tables["steps"]["step"].tolist() == STEPS["bad"]
    with pytest.raises(InputError, match=r"none of 10 candidates is usable \(10 failed: timeout\)"):
        run(tmp_path, drafter=Rule(lambda call: None))
    copied = Rule(
        lambda call: json.dumps({"steps": [json.loads(call.messages[1]["content"])["examples"][0]["hate_speech"]]})
    )
    with pytest.raises(InputError, match="10 failed: copies_example"):
        run(tmp_path, drafter=copied)


def test_a_drafter_may_repeat_the_examples_of_the_request_beside_the_steps(tmp_path: Path) -> None:
    """As Qwen2.5-Coder 1.5B did. Two lists of steps are none."""

    def repeats(call: ChatRequest) -> str:
        return json.dumps({**json.loads(write(call)), "examples": json.loads(call.messages[1]["content"])["examples"]})

    assert run(tmp_path, drafter=Rule(repeats)).tables["steps"]["step"].tolist() == STEPS["good"]
    twice = Rule(lambda call: '{"steps": ["Look."], "steps": ["Read."]}')
    with pytest.raises(InputError, match="10 failed: no_list"):
        run(tmp_path, drafter=twice)


def test_replies_with_a_common_cn_are_in_one_part(tmp_path: Path) -> None:
    rows = [{**row, "text": "They play." if n < 3 else row["text"]} for n, row in enumerate(ROWS)]
    judge = Rule(
        lambda call: '{"relevance": 3}' if call.variables["counter_narrative"] == "They play." else grade(call)
    )
    assert run(tmp_path, replies=rows, model=judge).tables["parts"]["items"].sum() == N - 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"out": Path("steps.txt")}, "expected a name that ends in"),
        ({"trials": 0}, "expected 1 or more"),
        ({"example": (99,)}, "found 99 examples for a draft, expected at most 8"),
        ({"limit": 12}, "found ratings of 12 HS, expected 5 or more for each of three parts: give about 25 HS"),
        ({"aspect": "coherence"}, "found no rating of coherence by people"),
        ({"aspect": "wit"}, "wit"),
    ],
)
def test_mistakes_are_refused(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path, **given)
    assert not [*tmp_path.iterdir()]


def test_the_command_continues_from_stored_answers(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_key(monkeypatch)
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))
    pd.DataFrame(ROWS).to_csv(tmp_path / "replies.csv", index=False)
    pd.DataFrame(RATINGS).to_csv(tmp_path / "ratings.csv", index=False)

    def answer(body: Any) -> str:
        if "examples" in body["messages"][-1]["content"]:
            return json.dumps({"steps": STEPS["bad"]})
        return json.dumps({"relevance": len(body["messages"][-1]["content"]) % 5 + 1})

    with Server(says(answer)) as server:
        words = [
            "judge",
            "calibrate",
            tmp_path / "replies.csv",
            "--ratings",
            tmp_path / "ratings.csv",
            "--resamples",
            "9",
        ]
        words += ["--aspect", "relevance", "--model", "m", "--base-url", server.url, "--out", tmp_path / "steps.yaml"]
        dry = run_cli(*words, "--dry-run")
        # 10 drafts and 12 refinements; 22 candidates on 16 replies, 3 on 8, and two on 16.
        assert dry.returncode == 0 and not server.requests and "22" in dry.stdout and "408" in dry.stdout
        done = run_cli(*words)
        assert done.returncode == 0, done.stderr
        sent = len(server.requests)
        assert run_cli(*words).returncode == 2  # the file exists
        again = run_cli(*words, "--force")
        assert again.returncode == 0 and len(server.requests) == sent


def test_a_rubric_is_drafted_and_can_be_used(tmp_path: Path) -> None:
    def answer(call: ChatRequest) -> str:
        asked = json.loads(call.messages[1]["content"])
        assert asked == {
            "aspect": "Tact",
            "measures": "how tactful it is",
            "lowest_grade": 1,
            "highest_grade": 3,
            "best_grade": 1,
        }
        grades = {"1": "Rude.", "2": "Fair.", "3": "Kind."}
        return f"```json\n{json.dumps({'question': 'How tactful?', 'grades': grades, 'steps': ['Read it.']})}\n```"

    how: Any = {"definition": "how tactful it is", "out": tmp_path / "tact.yaml", "high": 3, "lower_is_better": True}
    found = draft_rubric("tact", model=Rule(answer), **how)
    assert found.to_frame().values.tolist() == [[1, "Rude."], [2, "Fair."], [3, "Kind."]]
    aspect = load_rubric(str(tmp_path / "tact.yaml")).aspect("tact")
    assert (aspect.question, aspect.steps, aspect.higher_is_better) == ("How tactful?", ["Read it."], False)
    said: list[str | None] = [None, "no", '{"grades": {"1": "Rude."}}', '{"grades": 3}']
    while said:
        with pytest.raises(InputError, match="rule drafted no rubric of wit"):
            draft_rubric("wit", model=Rule(lambda call: said.pop()), **how)
    with pytest.raises(InputError, match=r"expected a name that ends in \.yaml and 2 to 100 grades"):
        draft_rubric("wit", model=Rule(answer), **how | {"high": 1})
    with pytest.raises(InputError, match="no rubric can be drafted for 'Wit!'"):
        draft_rubric("Wit!", model=Rule(lambda call: pytest.fail("asked")), **how)
