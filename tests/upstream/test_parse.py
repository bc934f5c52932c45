"""Compares `fcconan.parsing.parsers` with released outputs of judges, and with values read from them without it.

`mistral_sample.csv` holds 400 of the 7604 outputs of Mistral-7B-Instruct-v0.3, read and written down one by one, not by
a program: the row (from 0), the aspect, and what the output says. `value` is the number that it gives, empty where it
gives none; `reason` says why that is no grade, empty where it is one.
"""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fcconan.parsing import ParsedRating, parse_comparison, parse_rating
from tests.upstream import oracle

pytestmark = pytest.mark.upstream

PREDICTIONS = "AmeyHengle/cs-eval/predictions"
KEYS = {
    "relevance": "Relevance",
    "coherence": "Argument Coherence",
    "suitableness": "Choose or Not",
    "aggressiveness": "Aggressiveness",
}
HIGH = {"relevance": 5, "coherence": 5, "suitableness": 3, "aggressiveness": 5}
SAMPLE = Path(__file__).with_name("mistral_sample.csv")
ODD, WITH_WORDS, BARE = 20, 50, 50  # at most 20 odd ones, 50 together with those that words follow, and 50 bare ones


def _parse(text: str, aspect: str, decimals: int = 0) -> ParsedRating:
    return parse_rating(text, scale=(1, HIGH[aspect]), key=KEYS[aspect], decimals=decimals)


@pytest.fixture(scope="module")
def outputs(request: pytest.FixtureRequest) -> dict[str, list[tuple[str, float]]]:
    """The raw outputs of every aspect, each with the number in the column `_cleaned`."""
    from tests.conftest import MIRROR

    if MIRROR is None:
        pytest.skip("FCCONAN_MIRROR is not set")
    rows = oracle.read_csv(Path(MIRROR) / PREDICTIONS / "mistralai-Mistral-7B-Instruct-v0.3_remaining.csv")
    columns = {aspect: f"prediction_mistralai/Mistral-7B-Instruct-v0.3_{aspect}_score" for aspect in KEYS}
    assert len(rows) == 1901
    return {
        aspect: [(row[column], float(row[f"{column}_cleaned"])) for row in rows] for aspect, column in columns.items()
    }


Outputs = dict[str, list[tuple[str, float]]]


def _sample() -> list[dict[str, str]]:
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_sample_is_the_seeded_draw(outputs: Outputs) -> None:
    random = np.random.default_rng(4)
    drawn: set[tuple[int, str]] = set()
    for aspect, key in KEYS.items():
        field = rf' {{"{key}": "?\d"?}}'
        texts = [text for text, _ in outputs[aspect]]
        odd = [row for row, text in enumerate(texts) if not re.match(field, text)]
        bare = [row for row, text in enumerate(texts) if re.fullmatch(field, text)]
        with_words = sorted(set(range(len(texts))) - {*odd, *bare})
        for rows, size in (
            (odd, min(ODD, len(odd))),
            (with_words, WITH_WORDS - min(ODD, len(odd))),
            (bare, BARE),
        ):
            drawn |= {(int(row), aspect) for row in random.choice(rows, size, replace=False)}
    written = [(int(row["row"]), row["aspect"]) for row in _sample()]
    assert len(written) == 400
    assert set(written) == drawn


def test_no_value_differs_from_the_one_written_down(outputs: Outputs) -> None:
    missed: list[tuple[str, str]] = []
    reasons: Counter[str] = Counter()
    for row in _sample():
        text = outputs[row["aspect"]][int(row["row"])][0]
        found = _parse(text, row["aspect"])
        reasons[row["reason"]] += 1
        if row["reason"]:
            assert (found.value, found.reason) == (None, row["reason"])
        elif found.value is None:
            missed.append((row["row"], row["aspect"]))
        else:
            assert found.value == float(row["value"])
        if row["value"]:  # with a decimal allowed, the grades of 4.5 are there as well
            assert _parse(text, row["aspect"], 1).value in (float(row["value"]), None)
    assert reasons == {"": 393, "not_on_scale": 5, "not_a_number": 1, "refusal": 1}
    assert missed == [("651", "aggressiveness")]  # the model misspelt the name of the field
    assert 1 - len(missed) / reasons[""] >= 0.995


def test_of_all_outputs_that_hold_a_score_995_in_1000_parse(outputs: Outputs) -> None:
    """The oracle: the first number between the first braces, whatever the name of the field."""
    numbers: Counter[str] = Counter()
    for aspect, texts in outputs.items():
        for text, _ in texts:
            inside = text[text.index("{") + 1 : text.index("}")]
            number = re.search(r"\d+(\.\d+)?", inside)
            found = _parse(text, aspect)
            if number is None:
                assert found.value is None
                numbers[f"none: {found.reason}"] += 1
            elif found.value is not None:
                assert found.value == float(number[0])
                numbers["parsed"] += 1
            else:
                assert found.reason is not None
                numbers[found.reason] += 1
                assert (found.reason == "not_on_scale") == (number[1] is not None)
    assert numbers == {"parsed": 7585, "not_on_scale": 16, "no_field": 1, "none: not_a_number": 1, "none: refusal": 1}
    assert numbers["parsed"] / (numbers.total() - 2) >= 0.995  # even if 4.5 counts as a score


def test_where_the_released_numbers_differ(outputs: Outputs) -> None:
    differ: Counter[tuple[str, str | None, float]] = Counter()
    for aspect, texts in outputs.items():
        for text, released in texts:
            found = _parse(text, aspect)
            if (-1.0 if found.value is None else found.value) != released:
                differ[aspect, found.reason, released] += 1
    assert differ == {
        ("coherence", "not_on_scale", 4.0): 14,  # 4.5 was cut to 4
        ("coherence", "not_on_scale", 3.0): 2,
        ("aggressiveness", "no_field", 2.0): 1,  # the name of the field is misspelt
    }


@pytest.mark.parametrize(
    ("file", "parsed", "missing"),
    [
        ("gpt-4o", 1240, {}),
        ("gpt-4o_zeroshot", 1227, {"not_a_number": 13}),
        ("meta-llama-Llama-3-8b-chat-hf", 1212, {"refusal": 22, "no_field": 6}),
        (
            "meta-llama-Llama-3-8b-chat-hf_zeroshot",
            1201,
            {"refusal": 28, "not_on_scale": 6, "out_of_scale": 4, "not_a_number": 1},
        ),
        ("mistralai-Mistral-7B-Instruct-v0.3", 1238, {"not_on_scale": 1, "not_a_number": 1}),
        ("mistralai-Mistral-7B-Instruct-v0.3_zeroshot", 1109, {"not_on_scale": 112, "out_of_scale": 19}),
    ],
)
def test_outputs_about_the_ranked_replies(mirror: Path, file: str, parsed: int, missing: dict[str, int]) -> None:
    counted: Counter[str] = Counter()
    for row in oracle.read_csv(mirror / PREDICTIONS / f"human_eval/{file}.csv"):
        for column, text in row.items():
            aspect = next(
                (name for name in KEYS if column.startswith("prediction_") and f"{name}_score" in column), None
            )
            if aspect is None or "cleaned" in column:
                continue
            found = _parse(text, aspect)
            counted[found.reason or "parsed"] += 1
            released = next(float(row[name]) for name in row if name.startswith(f"{column}_cleaned"))
            if found.value is not None:
                assert found.value == released
            elif found.reason == "no_field" and released != -1:
                assert (released, aspect) == (1, "aggressiveness")  # "1." of a list was taken for a grade
                assert re.match(r"Evaluation(?: Steps)?:\s+1\. ", text)
            elif found.reason == "not_on_scale":
                assert released == int(released) == int(float(re.findall(r"\d+\.\d+", text)[0]))  # cut
            elif found.reason == "out_of_scale":
                assert released == 0
            else:
                assert released == -1
    assert counted == {"parsed": parsed, **missing}


def _scores(text: str) -> tuple[float, float] | None:
    """The rule of JudgeLM: the first line holds two numbers with a space between them, and nothing else."""
    try:
        first, second = text.split("\n")[0].split(" ")
        return float(first), float(second)
    except ValueError:
        return None


@pytest.mark.parametrize("judge", [7, 13, 33])
@pytest.mark.parametrize("corpus", ["CONAN", "CONAN-MT"])
def test_outputs_of_judgelm(mirror: Path, corpus: str, judge: int) -> None:
    folder = mirror / "hitz-zentroa/cn-eval/evaluation/manual_evaluation/rank"
    lines = (folder / corpus / f"judgelm/judged_{judge}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 360
    invalid = []
    for line in lines:
        text = json.loads(line)["pred_text"]
        found, scores = parse_comparison(text), _scores(text)
        if scores is None:
            assert found.value is None
            invalid.append(found.reason)
        else:
            a, b = scores
            assert (found.value, found.score_a, found.score_b) == ("a" if a > b else "b" if b > a else "tie", a, b)
    loop = "no_scores" if judge == 33 else "empty"  # the other two judges gave nothing there
    assert sorted(filter(None, invalid)) == ([] if corpus == "CONAN" else ["empty", loop])
