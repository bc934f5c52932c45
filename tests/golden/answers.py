"""Answers of judges: those that replays read, made up by rule, and the whole grades in released outputs."""

import csv
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fcconan
from tests.golden.digests import digest, rows_of, split_file
from tests.golden.values import EXACT, REPLACED, Row
from tests.golden.workplace import Workplace

HIGHEST = {"relevance": 5, "coherence": 5, "aggressiveness": 5, "suitableness": 3}  # of the task `cseval`, from 1
# What judges write, {aspect} and {grade} filled in: what is read, and what is missing.
RATINGS = (
    '{{"{aspect}": {grade}}}',
    '```json\n{{"{aspect}": {grade}}}\n```',
    'The reply names a source that anyone may check.\n{{"{aspect}": {grade}}}',
    '{{"{aspect}": "{grade}"}}',
    "{aspect}: {grade}",
    "{grade}",
    '{{"{aspect}": {grade}, "explanation": "It asks the Tessok bakers themselves."}}',
    "I cannot rate messages about the Ombrey.",
    '{{"{aspect}": 9}}',
    "",
    '{{"{aspect}": ',
    "Velmari bakers would disagree, and rightly so.",
    '{{"{aspect}": 2, "{aspect}": 1}}',
)
CHOICES = (
    '{{"better": "{better}"}}',
    'Both mention the library.\n{{"better": "{better}"}}',
    '{{"better": "tie"}}',
    "I will not compare replies about the Dravene.",
    "{better}",
    '{{"better": "neither"}}',
)
SCORES = ("{one} {other}", "{one} {other}\nThe first names the inspector.", "Both are fine.", "{one}", "0 11")

PREDICTIONS = "AmeyHengle/cs-eval/predictions"
KEYS = {
    "relevance": "Relevance", "coherence": "Argument Coherence", "suitableness": "Choose or Not",
    "aggressiveness": "Aggressiveness",
}  # fmt: skip
JUDGELM = "hitz-zentroa/cn-eval/evaluation/manual_evaluation/rank"


def rating_answers(place: Workplace) -> None:
    """Writes an answer for each reply of the demo and each aspect."""
    answers = []
    for row, (aspect, highest) in itertools.product(_replies(place), HIGHEST.items()):
        number = _number(row["text"], aspect)
        said = RATINGS[number % len(RATINGS)].format(aspect=aspect, grade=1 + number // 97 % highest)
        texts = {"hate_speech": row["hate_speech"], "counter_narrative": row["text"]}
        answers.append(texts | {"aspect": aspect, "output": said})
    _write(place / "ratings.csv", answers)


def comparison_answers(place: Workplace) -> None:
    """Writes an answer for each ordered pair of replies of an item, in two forms."""
    for name, forms in (("choice", CHOICES), ("judgelm", SCORES)):
        answers = []
        for one, other in itertools.permutations(_replies(place), 2):
            if one["item_id"] == other["item_id"]:
                texts = {"hate_speech": one["hate_speech"], "reply_1": one["text"], "reply_2": other["text"]}
                number = _number(*texts.values())
                said = {"better": "ab"[number // 11 % 2], "one": 1 + number // 13 % 10, "other": 1 + number // 17 % 10}
                answers.append(texts | {"output": forms[number % len(forms)].format(**said)})
        _write(place / f"{name}.csv", answers)


def few_human_ratings(place: Workplace) -> None:
    """Writes the ratings of the demo, where people rated the replies to half of the messages."""
    found = rows_of(split_file(place / place.dataset("demo"), "ratings", "test"))
    items = {row["reply_id"]: row["item_id"] for row in _replies(place)}
    kept = [row for row in found if row["rater_kind"] != "human" or _number(items[row["reply_id"]]) % 2]
    _write(place / "few.csv", kept)


def _replies(place: Workplace) -> list[dict[str, Any]]:
    return rows_of(split_file(place / place.dataset("demo"), "replies", "test"))


def _number(*parts: str) -> int:
    """A number that follows from texts, evenly spread."""
    return int(hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8], 16)


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows, equal ones once."""
    once = {json.dumps(row, sort_keys=True): row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(once.values())


def whole_grades() -> Iterator[tuple[str, str, list[tuple[int, str, str]]]]:
    """Yields the whole grades of released outputs: file, aspect or `pair`, and index, text and grade of each.

    An output of CSEval's judges counts if it starts with the object that the paper's prompt asks for and holds no other
    brace; one of JudgeLM, if its first line is two numbers.
    """
    mirror = Path(os.environ["FCCONAN_MIRROR"])
    for path in sorted((mirror / PREDICTIONS).rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        model = re.escape(path.stem.split("_")[0].replace("mistralai-", "mistralai/").replace("llama-", "llama/"))
        for aspect, key in KEYS.items():
            name = next(c for c in rows[0] if re.fullmatch(rf"prediction_{model}_{aspect}_score(_zeroshot)?", c))
            form = re.compile(rf'\s*\{{"{key}": ?("?)([1-{HIGHEST[aspect]}])\1\}}[^{{}}]*')
            found = [(number, form.fullmatch(row[name])) for number, row in enumerate(rows)]
            yield str(path.relative_to(mirror)), aspect, [(n, m.string, m[2]) for n, m in found if m]
    for path in sorted((mirror / JUDGELM).rglob("judged_*.jsonl")):
        texts = [json.loads(line)["pred_text"] for line in path.read_text("utf-8").splitlines()]
        two = [(n, text, re.fullmatch(r"\s*(\d+) (\d+)\s*", text.split("\n")[0])) for n, text in enumerate(texts)]
        whole = [(n, text, f"{m[1]} {m[2]}") for n, text, m in two if m and all(1 <= int(x) <= 10 for x in m.groups())]
        yield str(path.relative_to(mirror)), "pair", whole


def released(_: Workplace) -> Iterator[Row]:
    """Yields number and hash of the whole grades in released outputs, and how many the package reads so."""
    for path, aspect, grades in whole_grades():
        keys = {"file": path, "aspect": aspect}
        yield Row("whole grades", keys, len(grades), "J18")
        yield Row("whole grades hash", keys, digest([number, grade] for number, _, grade in grades), "J18")
        read = sum(_read(text, aspect) == grade for _, text, grade in grades)
        yield Row("whole grades read", keys, read, "J18", EXACT if read == len(grades) else REPLACED)


def _read(text: str, aspect: str) -> str | None:
    if aspect == "pair":
        verdict = fcconan.parse_comparison(text)
        return None if verdict.score_a is None else f"{verdict.score_a:g} {verdict.score_b:g}"
    value = fcconan.parse_rating(text, scale=(1, HIGHEST[aspect]), key=KEYS[aspect]).value
    return None if value is None else f"{value:g}"
