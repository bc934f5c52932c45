"""Text metrics of replies, as ratings that other services read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fcconan.data import SCORED, SUFFIXES, open_table
from fcconan.errors import InputError
from fcconan.services.configuration import argument, option, output
from fcconan.services.locations import dataset_folder
from fcconan.services.model_results import row_target, written
from fcconan.services.options import RowSelection
from fcconan.services.parallelism import Parallel
from fcconan.services.results import Result
from fcconan.services.rows import SOURCES, Source, listed, open_rows

if TYPE_CHECKING:
    from fcconan.scoring import Metric, TextScores

Row = Mapping[str, Any]
NOVELTY = "novelty"
TOXIC = "toxic"
TEXTS = ("text", "counter_narrative")
BATCH_SIZE, LARGEST_BATCH = 32, 65_536
MODELS = "Models of metrics"
_PORTION = (
    "Values of systems need all shards: `fcconan rank FILE...` computes means from the files of all shards, and "
    "a run without --shard the values that pool all texts (BLEU, distinct-n, repetition-rate)."
)


def metric_names() -> list[str]:
    """Returns the names of the metrics that need no model."""
    from fcconan.scoring import TEXT_METRICS

    return [*TEXT_METRICS, NOVELTY]


class MetricsOptions(RowSelection, Parallel):
    """Options of `metrics`: metrics, their models, and parallel processing."""

    metric: tuple[str, ...] = option(
        (),
        help="Text metrics (docs/scores.md); default: all that need no model.",
        metavar="NAME",
        complete=metric_names,
    )
    bertscore: str | None = option(
        None, help="Encoder of BERTScore.", group=MODELS, metavar="FOLDER|NAME", role="folder"
    )
    bartscore: str | None = option(
        None, help="Sequence-to-sequence model of BARTScore.", group=MODELS, metavar="FOLDER|NAME", role="folder"
    )
    toxicity: str | None = option(
        None,
        help="Toxicity classifier; default label: toxic.",
        group=MODELS,
        metavar="MODEL[:LABEL[+LABEL]]",
        role="folder",
    )
    unieval: str | None = option(
        None,
        help="Sequence-to-sequence model that answers --question.",
        group=MODELS,
        metavar="FOLDER|NAME",
        role="folder",
    )
    question: dict[str, str] = option(
        {},
        help="Question of UniEval with {text}, {reference} or {message}.",
        group=MODELS,
        rare=True,
        metavar="NAME=QUESTION",
    )
    multi_reference: Literal["max", "mean", "joint"] = option(
        "max",
        help="Combination of several references; joint is that of BLEU itself, and max for other metrics.",
        rare=True,
    )
    device: str | None = option(
        None, help="Device of models, such as cpu or cuda.", group=MODELS, rare=True, metavar="NAME"
    )
    batch_size: int | None = option(
        None, help="Texts in a batch of models; default: 32.", group=MODELS, rare=True, ge=1, le=LARGEST_BATCH
    )


@dataclass(frozen=True, repr=False)
class MetricsResult(Result):
    """The value of each system by each metric.

    Attributes:
        scored: System -> its replies and their scores.
    """

    scored: "Mapping[str, tuple[Sequence[Row], Mapping[str, TextScores]]]"

    @property
    def ratings(self) -> list[dict[str, Any]]:
        """Returns a rating of each reply by each metric, as rows that `correlate` and `rank` read."""
        return [row for system in self.scored for row in self.ratings_of(system)]

    def source_rows(self) -> Any:
        """Returns the ratings."""
        return self.ratings

    def ratings_of(self, system: str) -> Iterator[dict[str, Any]]:
        """Yields the ratings of the replies of one system."""
        from fcconan.scoring import rating_rows

        return rating_rows(*self.scored[system])

    @property
    def signature(self) -> str:
        """The signatures of all metrics, separated by spaces."""
        return " ".join(self.signature_lines())

    def signature_lines(self) -> list[str]:
        """Returns the signature of each metric, and of its ratings where it differs."""
        from fcconan.scoring import summary_signatures

        return list(dict.fromkeys(each for row in self.rows() for each in summary_signatures(row)))


def metrics(
    replies: Annotated[Source, SOURCES],
    options: MetricsOptions = MetricsOptions(),
    *,
    out: Annotated[
        Path | str | None, output("File of ratings to write: .parquet, .jsonl or .csv.", role="write", required=True)
    ] = None,
    novelty_against: Annotated[
        Source | None,
        argument(
            "CNs against which novelty is computed; default split: train.",
            flag="--novelty-against",
            metavar="FILE|DATASET[:CONFIG]",
            role="folder",
        ),
    ] = None,
    executor: Any = None,
) -> MetricsResult:
    """Scores replies by text metrics, as ratings that `correlate` and `rank` read.

    Args:
        replies: Rows of replies: files, folders, names, data frames, datasets or mappings.
        options: The options.
        out: File of ratings to write; None for no file.
        novelty_against: Training CNs of the systems, against which novelty is computed.
        executor: A `concurrent.futures.Executor` or a Dask client for parallel processing.

    Returns:
        The values. The main table has one row for each system and metric, with the columns `metric`, `system`, `value`,
        `reason`, `higher_is_better`, `n`, `n_missing` and `signature`. `ratings` has one row for each reply and metric.

    Raises:
        InputError: A source or a model cannot be read, a metric is unknown, or the file cannot be written.

    Examples:
        >>> rows = [{"system": "A", "hate_speech": "They keep our books.", "text": "They return them every month."}]
        >>> result = metrics(rows, MetricsOptions(metric=("length-words",)))
        >>> result.to_frame()[["system", "metric", "value"]].values.tolist()
        [['A', 'length-words', 5.0]]
        >>> [(row["rater"], row["value"]) for row in result.ratings]
        [('length-words', 5.0)]
    """
    from fcconan.scoring import REFERENCE_METRICS, TEXT_METRICS, Novelty, score_systems, summary_rows

    out = row_target(out)
    wanted = _named(options.metric, has_training=novelty_against is not None)
    table = open_rows("replies", replies, options)
    data = table.population
    rows = list(table)
    has_references = any(row["references"] for row in rows)
    chosen: list[str | Metric] = [*wanted, *_models(options), *_questions(options)]
    if not chosen and not options.metric:
        chosen += [name for name in TEXT_METRICS if has_references or name not in REFERENCE_METRICS]
    if novelty_against is not None:
        chosen.append(Novelty(_training_texts(novelty_against)))
    if is_portion := options.portion.count > 1:
        rows = [row for row in rows if options.portion.holds(row["item_id"])]
        data += f"/shard:{options.portion.number}-of-{options.portion.count}"
    by_system: dict[str, list[Row]] = {}
    for row in rows:
        by_system.setdefault(row["system"], []).append(row)
    systems = {
        system: (
            [row["text"] for row in own],
            [row["references"] for row in own] if has_references else None,
            [row["hate_speech"] for row in own],
        )
        for system, own in sorted(by_system.items())
    }
    with options.workers(executor) as workers:
        scores = score_systems(
            systems,
            chosen,
            several=options.multi_reference,
            batch_size=options.batch_size or BATCH_SIZE,
            workers=workers,
        )
    scored = {system: (by_system[system], scores[system]) for system in systems}
    summary = [row for system in systems for row in summary_rows(system, scores[system], data, is_portion=is_portion)]
    notes = _notes(rows, summary) + ([_PORTION] if is_portion else [])
    found = {"out": None if out is None else str(out), "data": data, "rows": summary, "notes": notes}
    result = MetricsResult(found, scored)
    if out is not None:
        written((list(result.ratings_of(system)) for system in scored), SCORED.kinds, out)
    return result


def _named(names: Sequence[str], *, has_training: bool) -> list[str]:
    """Returns the named metrics without novelty, which is made of the texts that it compares with."""
    known = metric_names()
    for name in names:
        if name == NOVELTY and not has_training:
            raise InputError("novelty needs the CNs that were trained on: give them with --novelty-against")
        if name not in known:
            raise InputError(
                f"there is no metric {name!r}: choose from {', '.join(known[:-1])}; models have options of their own"
            )
    return [name for name in dict.fromkeys(names) if name != NOVELTY]


def _models(options: MetricsOptions) -> "Iterator[Metric]":
    from fcconan.scoring import BartScore, BertScore, Toxicity

    if options.bertscore is not None:
        yield BertScore(options.bertscore, device=options.device)
    if options.bartscore is not None:
        yield BartScore(options.bartscore, device=options.device)
    if options.toxicity is not None:
        model, labels = _parted(options.toxicity)
        yield Toxicity(model, (labels or TOXIC).split("+"), device=options.device)


def _questions(options: MetricsOptions) -> "Iterator[Metric]":
    if (options.unieval is None) != (not options.question):
        raise InputError("one of --unieval and --question is missing: give a model and its question")
    if options.unieval is None:
        return
    from fcconan.scoring import Question, ScoringModel

    loaded = ScoringModel(options.unieval, "sequence-to-sequence", options.device)
    for name, text in options.question.items():
        yield Question(loaded, text, name=name)


def _parted(given: str) -> tuple[str, str]:
    """Returns the parts before and after the last colon, unless the whole is the name of a file."""
    if Path(given).exists() or ":" not in given:
        return given, ""
    before, _, after = given.rpartition(":")
    return before, after


def _training_texts(source: Source) -> list[str]:
    """Returns the CNs of a source, by default of its split `train`."""
    split: str | None = None
    part: str | None = None
    if isinstance(source, str | PathLike):
        place, part = _parted(str(source))
        source = dataset_folder(place)
        if source.suffix not in SUFFIXES:
            there = sorted({file.parent.name for file in source.glob("*/train-*.parquet")})
            if not part and len(there) > 1:
                raise InputError(
                    f"{place} has a split train in {', '.join(there)}: choose one, such as --novelty-against "
                    f"{place}:{there[0]}"
                )
            split, part = "train", part or "".join(there) or "train"
        elif part:
            raise InputError(f"{place} is a file and has no config {part!r}: give --novelty-against {place}")
    texts: list[str] = []
    for row in open_table("pairs", listed(source), split=split, part=part):
        if row.get("role") == "hs":  # dialogues have both sides
            continue
        place = getattr(row, "place", "a row")
        name = next((each for each in TEXTS if each in row), None)
        if name is None:
            raise InputError(
                f"{place} has no column {' or '.join(TEXTS)}, but {', '.join(row)}: rename that of the CNs"
            )
        text = row[name]
        if text is not None and not isinstance(text, str):
            raise InputError(f"{place}: {name} is {text!r}, expected a text; correct that row")
        texts += [text] if text else []
    return texts


def _notes(rows: Sequence[Row], summary: Sequence[Row]) -> list[str]:
    """Returns a sentence about letters that ROUGE leaves out."""
    if not any(row["metric"].startswith("rouge-") for row in summary):
        return []
    n = sum(
        any(
            letter.isalpha() and not letter.isascii()
            for text in (row["text"], *row["references"])
            if not text.isascii()
            for letter in text
        )
        for row in rows
    )
    note = (
        f"ROUGE leaves out all letters but a to z, and {n} replies or their references hold others: "
        "Rouge(tokens='plain') from Python keeps them."
    )
    return [note] if n else []
