"""The benchmark of judges."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from fcconan.services.configuration import argument, option
from fcconan.services.locations import dataset_folder
from fcconan.services.options import BOOTSTRAP, MOST_RESAMPLES, Bootstrap, RowSelection
from fcconan.services.results import Result
from fcconan.services.rows import Source, open_rows, replies_argument

if TYPE_CHECKING:
    from fcconan.judging import BenchmarkRows, JudgeSuite, SuiteRows
    from fcconan.scoring import Ratings

NOTES = (
    "Learned, trained and control raters are evaluated out of fold: no rater learned from a reply to the message that "
    "it rates, or to a near-duplicate of this message.",
    "A metric that rates the whole reply has the other sign where praise is at the other end of the aspect.",
    "Intervals and tests resample and swap leakage groups of HS. The item of the level per_item is the HS.",
)


class JudgeBenchmarkOptions(RowSelection, Bootstrap):
    """Options of `benchmark_judges`: the suite of raters, the rows, and the bootstrap."""

    suite: Path | None = option(
        None,
        help="Suite file of raters; default: benchmarks/judges.yaml of this package.",
        metavar="FILE",
        role="read",
    )
    report_folder: Path | None = option(
        None, help="Write page, tables and JSON to this folder.", metavar="FOLDER", role="release"
    )
    resamples: int = option(
        1000,
        help="Resamples of intervals and random swaps of tests; 0 for neither.",
        group=BOOTSTRAP,
        ge=0,
        le=MOST_RESAMPLES,
    )
    device: str | None = option(None, help="Device of local models, such as cpu or cuda.", rare=True, metavar="NAME")


@dataclass(frozen=True, repr=False)
class JudgeBenchmarkResult(Result):
    """How well raters follow people; the main table has a row for each rater, aspect, level, coefficient and part.

    Attributes:
        report: The folder of the report, or None.
    """

    report: Path | None = None
    signatures: ClassVar[tuple[str, ...]] = ("signature",)


def benchmark_judges(
    ratings: Annotated[
        Source,
        argument("Dataset with replies and ratings: a name, or a folder of `fcconan build`.", role="folder"),
    ],
    options: JudgeBenchmarkOptions = JudgeBenchmarkOptions(),
    *,
    replies: Annotated[
        Source | None, replies_argument("Rated replies; default: those of the same dataset.", rare=True)
    ] = None,
    progress: Callable[[str], None] = lambda line: None,
) -> JudgeBenchmarkResult:
    """Compares judges, metrics and learned raters with people, out of fold where they learn.

    Args:
        ratings: Ratings by people, models and metrics: a dataset, files, data frames or mappings.
        options: The options.
        replies: Rows of the rated replies; by default those of the same dataset.
        progress: Function that receives a line before each rater.

    Returns:
        The correlations with people. The main table has one row for each `rater`, `aspect`, `level`, `coefficient` and
        part of the data, with `value` (-1 to 1), the interval `low` and `high`, the numbers of replies `n` and
        `n_missing`, the value of one person (`ceiling`), and for a missing value the `reason`. `data["tests"]` has the
        tests of differences between raters.

    Raises:
        InputError: A source or the suite cannot be read, or people rated too few replies.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     suite = Path(folder, "suite.yaml")
        ...     raters = "{surface: {kind: learned, parts: [surface]}}"
        ...     _ = suite.write_text(f"{{name: one, folds: 5, train_released: [], raters: {raters}}}")
        ...     found = benchmark_judges("demo", JudgeBenchmarkOptions(suite=suite, resamples=0)).to_frame()
        >>> sorted(set(found["rater"])), int(found["n"].max())
        (['simulated-judge', 'surface'], 96)
    """
    from fcconan.data import message_codes
    from fcconan.judging import (
        BANNER,
        JudgePredictions,
        benchmark_rows,
        correlation_rows,
        curve_rows,
        difference_rows,
        held_out_rows,
        load_judge_suite,
        people_rows,
    )
    from fcconan.reporting import check_judge_report, write_judge_report
    from fcconan.retrieval import SentenceEncoder
    from fcconan.scoring import Ratings

    if options.report_folder is not None:
        check_judge_report(options.report_folder)
    suite = load_judge_suite(options.suite)
    chosen = _rows_of(suite, ratings)
    if options.split is None and chosen.split is not None:
        options = options.model_copy(update={"split": chosen.split})
    progress("Reading ratings")
    table = open_rows("ratings", ratings, options)
    own = options if replies is None else options.model_copy(update={"split": None, "filter": {}})
    described = open_rows("replies", ratings if replies is None else replies, own)
    listed = [dict(row) for row in described]
    rows = benchmark_rows(
        listed,
        Ratings(table),
        clean=chosen.clean,
        people=_people(ratings, chosen.people, options),
        codes=[message_codes(row) for row in listed],
    )
    predictions = JudgePredictions(
        rows,
        suite,
        encoder=lambda name: SentenceEncoder(name, device=options.device),
        seed=options.seed,
        progress=progress,
    )
    judged = list(predictions.every_rater())
    progress(f"Correlations of {len(judged)} raters with people")
    named = {each.name: each for each in judged}
    compared = [named[name] for name in suite.compare if name in named]
    tests, families = difference_rows(rows, compared, swaps=options.resamples, **options.bootstrap)
    data: dict[str, Any] = {
        "signature": "",
        "banner": BANNER,
        "notes": [*NOTES, *_notes(rows, chosen, predictions.left_out)],
        "dataset": table.population,
        "suite": suite.name,
        "counts": _counts(rows),
        "rows": correlation_rows(rows, judged, **options.bootstrap),
        "people": people_rows(rows, judged),
        "tests": tests,
        "families": families,
        "curve": curve_rows(rows, predictions.label_curve()),
        "transfer": held_out_rows(rows, judged, predictions.held_out()),
    }
    data["signature"] = _signature(data, suite, options)
    if options.report_folder is not None:
        write_judge_report(options.report_folder, data)
    return JudgeBenchmarkResult(data, options.report_folder)


def _rows_of(suite: "JudgeSuite", source: Source) -> "SuiteRows":
    """Returns which rows of a dataset the suite compares raters on; all where it does not name the dataset."""
    from fcconan.data import MANIFEST, read_manifest
    from fcconan.judging import SuiteRows

    if isinstance(source, str | PathLike):
        folder = dataset_folder(str(source))
        if (folder / MANIFEST).is_file():
            return suite.rows.get(str(read_manifest(folder)["name"]), SuiteRows())
    return SuiteRows()


def _people(source: Source, splits: list[str], options: JudgeBenchmarkOptions) -> "Ratings | None":
    """Returns the ratings of each person; where splits share a reply, those of the first one."""
    from fcconan.scoring import HUMAN, Ratings

    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for split in splits:
        for row in open_rows("ratings", source, options.model_copy(update={"split": split})):
            if row["rater_kind"] == HUMAN:
                found.setdefault((row["reply_id"], row["rater"], row["aspect"]), dict(row))
    return Ratings(found.values()) if found else None


def _counts(rows: "BenchmarkRows") -> dict[str, Any]:
    """Returns the numbers of rows, messages and leakage groups of the results."""
    from collections import Counter

    table = rows.table
    clean = table.take(rows.clean)
    return {
        "rows": len(table),
        "clean": len(clean),
        "doubtful": len(table) - len(clean),
        "leakage_groups": len(set(clean.groups.tolist())),
        "messages": len({message for message, own in zip(rows.messages, rows.clean, strict=True) if own}),
        "systems": dict(Counter(clean.systems)),
        "rounds": dict(Counter(clean.rounds)),
    }


def _notes(rows: "BenchmarkRows", chosen: "SuiteRows", left_out: Mapping[str, str]) -> list[str]:
    notes = []
    if not rows.clean.all():
        notes.append(
            f"Raters learn from the {int(rows.clean.sum())} rated replies among the first {chosen.clean} only. The "
            f"other {int((~rows.clean).sum())} are shown apart. {chosen.doubtful}".strip()
        )
    if rows.annotators is None:
        notes.append("People's agreement is not known: the data has one rating by people for each reply.")
    notes += [f"{name} is left out: the dataset has no ratings by {rater}." for name, rater in left_out.items()]
    unknown = rows.table.take(rows.clean).systems.count("unknown")
    if unknown:
        notes.append(
            f"The system of {unknown} clean rows is not known: they are missing at the levels of systems, and may be "
            "by the system that is held out."
        )
    return notes


def _signature(data: Mapping[str, Any], suite: "JudgeSuite", options: JudgeBenchmarkOptions) -> str:
    import fcconan
    from fcconan.data import short_hash

    digest = short_hash(suite.model_dump_json() + repr([(row["value"], row["n"]) for row in data["rows"]]))
    return (
        f"fcconan:{fcconan.__version__}|data:{data['dataset']}|judges:{suite.name}-{digest}|rows:{data['counts']['rows']}"
        f"|clean:{data['counts']['clean']}|folds:{suite.folds}-by-leakage-group|bootstrap:{options.resamples}-by-leakage-"
        f"group|swaps:{options.resamples}-by-leakage-group|family:aspect|correction:max-t"
        f"|confidence:{options.confidence:g}|seed:{options.seed}"
    )
