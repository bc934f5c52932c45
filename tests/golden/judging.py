"""Answers of judges, made up by rule: ratings and comparisons replayed from them, and a fixed table that is parsed."""

import csv
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fcconan
from tests.golden.tables import column_hash, rows, split_file
from tests.golden.workplace import Workplace

HIGHEST = {
    "relevance": 5,
    "coherence": 5,
    "aggressiveness": 5,
    "suitableness": 3,
}  # of the task `cseval`; the lowest is 1
SCALE = (1, 5)

# What judges write, {aspect} and {grade} filled in: what is read, and what is missing with a reason.
RATINGS = (
    '{{"{aspect}": {grade}}}',
    '```json\n{{"{aspect}": {grade}}}\n```',
    'The reply names a source that anyone may check.\n{{"{aspect}": {grade}}}',
    '{{"{aspect}": "{grade}"}}',
    "{aspect}: {grade}",
    '{{"{aspect}": {grade}, "explanation": "It asks the Tessok bakers themselves."}}',
    "I cannot rate messages about the Ombrey.",
    '{{"{aspect}": 9}}',
    "",
    '{{"{aspect}": ',
    "Velmari bakers would disagree, and rightly so.",
    '{{"{aspect}": {grade}, "{aspect}": 1}}',
)
CHOICES = (
    '{{"better": "{better}"}}',
    'Both mention the library.\n{{"better": "{better}"}}',
    '{{"better": "tie"}}',
    "I will not compare replies about the Dravene.",
    "{better}",
    '{{"better": "neither"}}',
)
SCORES = (
    "{one} {other}",
    "{one} {other}\nThe first names the inspector.",
    "{one}, {other}",
    "Both are fine.",
    "{one}",
    "0 11",
)

# Read with the scale 1 to 5 and the field `relevance`, as a comparison, and as two aspects at once.
ANSWERS = (
    '{"relevance": 4}',
    '{"relevance": 4, "explanation": "The Ombrey library keeps a list."}',
    '```json\n{"relevance": 2}\n```',
    "Relevance: 3",
    "relevance = 5",
    "**Relevance**: 4/5",
    "Score: 4",
    "Rating: 4/5",
    "4",
    "four",
    "4.5",
    '{"relevance": 4.5}',
    '{"relevance": 6}',
    '{"relevance": -1}',
    '{"relevance": null}',
    '{"relevance": "high"}',
    '{"relevance": 2, "relevance": 3}',
    '{"relevance": 2',
    '{"Relevance ": "3"}',
    '{"coherence": 3}',
    '{"coherence": 5, "relevance": 2}',
    '{"relevance": {"score": 3, "explanation": "Tessok cards were counted."}}',
    "Relevance: 2\nCoherence: 5",
    "Between 3 and 4.",
    "1. Not applicable",
    "I cannot rate what is said about the Velmari.",
    "Sorry, I cannot rate this message about the Quillish.",
    "",
    "   ",
    "[RESULT] 4",
    "8 10",
    "8, 7",
    "7  7",
    "10 3\nThe second forgets the Ostrun.",
    "11 2",
    "A",
    "[[B]]",
    "Tie",
    '{"better": "a"}',
    "Both replies are good.",
)


def parsed() -> Any:
    """Returns what the public parsers read in every answer: value and reason."""
    fields = {name: fcconan.AspectField(keys=(name,), scale=SCALE) for name in ("relevance", "coherence")}
    found = []
    for answer in ANSWERS:
        rating = fcconan.parse_rating(answer, scale=SCALE, key="relevance")
        bare = fcconan.parse_rating(answer, scale=SCALE)
        verdict = fcconan.parse_comparison(answer)
        several = fcconan.parse_multi(answer, aspects=fields)
        found.append(
            {
                "text": answer,
                "relevance": [rating.value, rating.reason],
                "no_key": [bare.value, bare.reason],
                "comparison": [verdict.value, verdict.reason, verdict.score_a, verdict.score_b],
                "several": [[each.value, each.reason] for each in several.values()],
            }
        )
    return found


def judged(place: Workplace) -> dict[str, Any]:
    """Returns ratings and comparisons of the demo's replies, replayed from answers, and what an audit finds in them."""
    demo = place.dataset("demo")
    replies = rows(split_file(place / demo, "replies", "test"))
    _write(place / "ratings.csv", list(_rating_answers(replies)))
    task = ("--task", "cseval", "--model", "replay:ratings.csv")
    outputs: dict[str, Any] = {"rate": place.result("judge", "rate", demo, *task, "--out", "rated.parquet")}
    outputs["rate rows"] = _shown(
        place / "rated.parquet", ("reply_id", "rater", "aspect", "value", "reason", "explanation")
    )
    verdicts = ("reply_a", "reply_b", "rater", "verdict", "score_a", "score_b", "reason")
    for protocol, forms in (("choice", CHOICES), ("judgelm", SCORES)):
        _write(place / f"{protocol}.csv", list(_comparison_answers(replies, forms)))
        command = ("judge", "compare", demo, "--comparison-format", protocol, "--model", f"replay:{protocol}.csv")
        outputs[f"compare {protocol}"] = place.result(*command, "--out", f"{protocol}.parquet")
        outputs[f"compare {protocol} rows"] = _shown(place / f"{protocol}.parquet", verdicts)
    people = ("--ratings", demo, "--ratings", "rated.parquet", "--comparisons", "choice.parquet", "--replies", demo)
    outputs["audit"] = place.result("judge", "audit", *people, "--resamples", "1000")
    outputs["rank of replayed comparisons"] = place.result("rank", "choice.parquet", "--resamples", "200")
    outputs["parsed answers"] = parsed()
    return outputs


def _shown(path: Path, columns: Sequence[str]) -> Any:
    """The columns that matter as they are, explanations as a hash of each, and one hash of every column."""
    found = rows(path)
    shown = [{name: row[name] for name in columns if name in row} for row in found]
    for row in shown:
        if row.get("explanation"):
            row["explanation"] = column_hash([row["explanation"]])
    hashes = {name: column_hash((row[name] for row in found), digits=10) for name in found[0]}
    return {"rows": shown, "columns": hashes}


def _number(*parts: str) -> int:
    """A number that follows from texts, evenly spread."""
    return int(hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8], 16)


def _rating_answers(replies: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for row, (aspect, highest) in itertools.product(replies, HIGHEST.items()):
        number = _number(row["text"], aspect)
        said = RATINGS[number % len(RATINGS)].format(aspect=aspect, grade=1 + number // 97 % highest)
        texts = {"hate_speech": row["hate_speech"], "counter_narrative": row["text"]}
        yield texts | {"aspect": aspect, "output": said}


def _comparison_answers(replies: list[dict[str, Any]], forms: Sequence[str]) -> Iterator[dict[str, str]]:
    for one, other in itertools.permutations(replies, 2):
        if one["item_id"] != other["item_id"]:
            continue
        texts = {"hate_speech": one["hate_speech"], "reply_1": one["text"], "reply_2": other["text"]}
        number = _number(*texts.values())
        filled = {"better": "ab"[number // 11 % 2], "one": 1 + number // 13 % 10, "other": 1 + number // 17 % 10}
        yield texts | {"output": forms[number % len(forms)].format(**filled)}


def _write(path: Path, answers: list[dict[str, str]]) -> None:
    """Writes answers for replay; the same texts have the same answer, which is written once."""
    once = {json.dumps(answer, sort_keys=True): answer for answer in answers}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(answers[0]))
        writer.writeheader()
        writer.writerows(once.values())
