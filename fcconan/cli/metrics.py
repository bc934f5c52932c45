"""`fcconan metrics`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import models, row_options
from fcconan.data import SCORED as SCORED_SCHEMA
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.scoring import Metric, TextScores

NAME = "metrics"
EXAMPLE = "Example: fcconan metrics demo-dataset --metric rouge-l --metric bleu-4 --out scores.csv"
SCORED = SCORED_SCHEMA.kinds
FIELDS = ("precision", "recall", "f")  # metrics that have them are one rater with as many aspects
WHOLE = "score"
TOXIC = "toxic"
TEXTS = ("text", "counter_narrative")
Row = Mapping[str, Any]


def run(
    replies: Annotated[
        list[str], typer.Argument(help="Files of replies, folders of datasets, or names; several are concatenated.")
    ],
    out: Annotated[Path, typer.Option("--out", help="File of ratings: .parquet, .jsonl or .csv.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="See docs/scores.md; repeat it. Default: all that need no model."),
    ] = None,
    bertscore: Annotated[str | None, typer.Option("--bertscore", help="Folder or name of an encoder.")] = None,
    bartscore: Annotated[
        str | None, typer.Option("--bartscore", help="Folder or name of a sequence-to-sequence model.")
    ] = None,
    toxicity: Annotated[
        str | None, typer.Option("--toxicity", help="MODEL[:LABEL[+LABEL]] of a classifier; default label: toxic.")
    ] = None,
    unieval: Annotated[
        str | None, typer.Option("--unieval", help="Folder or name of a sequence-to-sequence model, for --question.")
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option("--question", help="NAME=QUESTION with {text}, {reference}, {message}; repeat it."),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option("--train", help="Also novelty, against the CNs of FILE or split train of DATASET[:CONFIG]."),
    ] = None,
    several: Annotated[
        str, typer.Option("--several", help="Of several references: max, mean, or joint (BLEU's own; others: max).")
    ] = "max",
    device: models.Device = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Texts a batch of models.")] = 32,
    split: row_options.Split = None,
    column: row_options.Column = None,
    json_file: row_options.Json = None,
) -> None:
    """Score replies by text metrics, as ratings that correlate and leaderboard read."""
    from fcconan.cli.output import print_table, write_json
    from fcconan.data import RowWriter, check_row_target
    from fcconan.scoring import score_texts

    check_row_target(out)
    classifier = toxicity if toxicity is None else _classifier(toxicity)[0]
    read = [*replies, *([_parted(train)[0]] if train else [])]
    row_options.check_targets(read, json_file, out=out, models=[bertscore, bartscore, classifier, unieval])
    wanted = _named(metric, train, several)
    table = row_options.opened("replies", replies, split=split, column=column)
    population = table.population
    rows = list(table)
    chosen: list[str | Metric] = [
        *wanted,
        *_models(bertscore, bartscore, toxicity, device),
        *_questions(unieval, question or [], device),
    ]
    if not chosen and not metric:
        chosen = _without_model(rows)
    if train is not None:
        chosen.append(_novelty(train))
    by_system: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        by_system.setdefault(row["system"], []).append(at)
    found = {
        system: score_texts(
            [rows[at]["text"] for at in places],
            [rows[at]["references"] for at in places] if any(row["references"] for row in rows) else None,
            chosen,
            messages=[rows[at]["hate_speech"] for at in places],
            several=several,  # type: ignore[arg-type]
            batch_size=batch_size,
        )
        for system, places in sorted(by_system.items())
    }
    summary = [line for system, scores in found.items() for line in _lines(system, scores, population)]
    notes = _notes(rows, summary)
    with RowWriter(out, SCORED) as writer:
        for system, scores in found.items():
            writer.write(list(_ratings([rows[at] for at in by_system[system]], scores)))
    if json_file is not None:
        write_json(json_file, {"out": str(out), "data": population, "rows": summary, "notes": notes})
    for title, columns, cells in _tables(summary):
        print_table(title, columns, cells)
    for note in notes:
        typer.echo(note)
    typer.echo(f"Written: {out}")
    for signature in dict.fromkeys(signature for line in summary for signature in _signatures(line)):
        typer.echo(signature)


def _named(metric: list[str] | None, train: str | None, several: str) -> list[str]:
    from fcconan.scoring import SEVERAL, TEXT_METRICS

    if several not in SEVERAL:
        raise InputError(f"--several is {several!r}: give {', '.join(SEVERAL)}")
    for name in metric or ():
        if name == "novelty" and train is None:
            raise InputError("novelty needs the CNs that were trained on: give them with --train")
        if name not in (*TEXT_METRICS, "novelty"):
            raise InputError(
                f"there is no metric {name!r}: choose from {', '.join(TEXT_METRICS)}; models have options of their own"
            )
    return [name for name in dict.fromkeys(metric or ()) if name != "novelty"]


def _models(
    bertscore: str | None, bartscore: str | None, toxicity: str | None, device: str | None
) -> "Iterator[Metric]":
    if bertscore is not None:
        from fcconan.scoring import BertScore

        yield BertScore(bertscore, device=device)
    if bartscore is not None:
        from fcconan.scoring import BartScore

        yield BartScore(bartscore, device=device)
    if toxicity is not None:
        from fcconan.scoring import Toxicity

        model, labels = _classifier(toxicity)
        yield Toxicity(model, labels.split("+"), device=device)


def _classifier(given: str) -> tuple[str, str]:
    """Returns model and labels of --toxicity."""
    model, labels = _parted(given)
    return model, labels or TOXIC


def _parted(given: str) -> tuple[str, str]:
    """Returns what stands before and after the last colon, unless that is all the name of a file."""
    if Path(given).exists() or ":" not in given:
        return given, ""
    before, _, after = given.rpartition(":")
    return before, after


def _questions(model: str | None, questions: list[str], device: str | None) -> "Iterator[Metric]":
    if (model is None) != (not questions):
        raise InputError("one of --unieval and --question is missing: give a model and what it is asked")
    if model is None:
        return
    from fcconan.scoring import Question, ScoringModel

    asked = [each.partition("=") for each in questions]
    for name, equals, text in asked:
        if not (name and equals and text):
            raise InputError(f"--question is {name + equals + text!r}: give NAME=QUESTION, such as books=Is this ...")
    loaded = ScoringModel(model, "sequence-to-sequence", device=device)
    for name, _, text in asked:
        yield Question(loaded, text, name=name)


def _novelty(train: str) -> "Metric":
    from fcconan.data import SUFFIXES, open_table
    from fcconan.scoring import Novelty
    from fcconan.services import dataset_folder

    source, config = _parted(train)
    texts: list[str] = []
    folder, split = dataset_folder(source), None
    if folder.suffix not in SUFFIXES:
        there = sorted({file.parent.name for file in folder.glob("*/train-*.parquet")})
        if not config and len(there) > 1:
            raise InputError(
                f"{source} has a split train in {', '.join(there)}: choose one, such as --train {source}:{there[0]}"
            )
        split, config = "train", config or "".join(there) or "train"
    elif config:
        raise InputError(f"{source} is a file and has no config {config!r}: give --train {source}")
    for row in open_table("pairs", [folder], split=split, part=config):
        if row.get("role") == "hs":  # dialogues have both sides
            continue
        place = getattr(row, "place", source)
        name = next((each for each in TEXTS if each in row), None)
        if name is None:
            raise InputError(
                f"{place} has no column {' or '.join(TEXTS)}, but {', '.join(row)}: rename that of the CNs"
            )
        text = row[name]
        if text is not None and not isinstance(text, str):
            raise InputError(f"{place}: {name} is {text!r}, expected a text; mend that row")
        texts += [text] if text else []
    return Novelty(texts)


def _without_model(rows: Sequence[Row]) -> "list[str | Metric]":
    from fcconan.scoring import OF_REFERENCES, TEXT_METRICS

    referred = any(row["references"] for row in rows)
    return [name for name in TEXT_METRICS if referred or name not in OF_REFERENCES]


def _notes(rows: Sequence[Row], summary: Sequence[Row]) -> list[str]:
    n = sum(
        any(letter.isalpha() and not letter.isascii() for text in (row["text"], *row["references"]) for letter in text)
        for row in rows
    )
    if not n or not any(line["metric"].startswith("rouge-") for line in summary):
        return []
    return [
        f"ROUGE leaves out all letters but a to z, and {n} replies or their references hold others: "
        "Rouge(tokens='plain') from Python keeps them."
    ]


def _rater(name: str) -> tuple[str, str]:
    """Returns rater and aspect of a series: `bertscore-recall` is the recall of bertscore."""
    rater, _, field = name.rpartition("-")
    return (rater, field) if rater and field in FIELDS else (name, WHOLE)


def _ratings(rows: Sequence[Row], scores: "Mapping[str, TextScores]") -> Iterator[dict[str, Any]]:
    """Yields a rating for every reply and series; a series that has values of whole systems only has none."""
    from fcconan.data import about_reply

    for name, series in scores.items():
        if "corpus_only" in series.reasons:
            continue
        rater, aspect = _rater(name)
        for row, value, reason in zip(rows, series.values.tolist(), series.reasons, strict=True):
            yield {
                "reply_id": row["reply_id"],
                "rater": rater,
                "rater_kind": "metric",
                "aspect": aspect,
                "value": None if reason else value,
                "higher_is_better": series.higher_is_better,
                "reason": reason,
                **about_reply(row),
                "system": row["system"],
            }


def _lines(system: str, scores: "Mapping[str, TextScores]", population: str) -> Iterator[dict[str, Any]]:
    for name, series in scores.items():
        missing = Counter(reason for reason in series.reasons if reason is not None)
        yield {
            "metric": name,
            "system": system,
            "value": series.corpus.value,
            "reason": series.corpus.reason,
            "higher_is_better": series.higher_is_better,
            "n": len(series.values),
            "n_missing": series.n_missing,
            "n_truncated": series.n_truncated,
            "n_empty_references": series.n_empty_references,
            "missing": dict(sorted(missing.items())),
            "signature": f"{series.corpus.signature}|data:{population}",
            "signature_of_ratings": f"{series.signature}|data:{population}",
        }


def _signatures(line: Row) -> Iterator[str]:
    """Yields the signature of the ratings, where the system's value is not their mean, and that of the value."""
    if line["signature"] not in (own := line["signature_of_ratings"], own.replace("|data:", "|corpus:mean|data:")):
        yield f"ratings:{own}"
    yield line["signature"]


def _tables(summary: Sequence[Row]) -> Iterable[tuple[str, list[str], list[list[object]]]]:
    names = list(dict.fromkeys(line["metric"] for line in summary))
    values: dict[str, dict[str, Row]] = {}
    for line in summary:
        values.setdefault(line["system"], {})[line["metric"]] = line
    cells: list[list[object]] = [
        [system, *(_shown(own[name]) for name in names), next(iter(own.values()))["n"]]
        for system, own in values.items()
    ]
    yield "Values of all replies of a system", ["system", *names, "replies"], cells
    counted: list[list[object]] = [
        [line["metric"], line["system"], what, n]
        for line in summary
        for what, n in (
            *line["missing"].items(),
            ("not read to the end", line["n_truncated"]),
            ("empty references left out", line["n_empty_references"]),
        )
        if n and what != "corpus_only"
    ]
    if counted:
        yield "Texts without a value, and texts cut", ["metric", "system", "reason", "texts"], counted


def _shown(line: Row) -> str:
    if line["value"] is None:
        return f"– ({line['reason']})"
    left_out = sum(n for reason, n in line["missing"].items() if reason != "corpus_only")
    return f"{line['value']:.4f}" + (f" (without {left_out})" if left_out else "")
