"""The demo: a small dataset of invented texts, benchmarked, rated and scored without a network."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from fcconan.errors import InputError
from fcconan.services.benchmark import BenchOptions, bench
from fcconan.services.benchmark_results import BenchResult
from fcconan.services.configuration import Configuration, option, output
from fcconan.services.correlations import correlate
from fcconan.services.datasets import BuildResult, build
from fcconan.services.options import RowSelection
from fcconan.services.rater_training import TrainRaterOptions, train_rater
from fcconan.services.rows import open_rows

if TYPE_CHECKING:
    from fcconan.reporting import DisplayTable

RATINGS = "demo-ratings.csv"


class DemoOptions(Configuration):
    """Where the demo writes its results."""

    ratings_out: Path | None = option(
        None,
        help="File for the ratings of the learned rater; default: demo-ratings.csv next to the dataset.",
        rare=True,
        metavar="FILE",
        role="write",
    )


@dataclass(frozen=True, repr=False)
class DemoResult(BuildResult):
    """The demo; its main table has one row for each split of the dataset.

    Attributes:
        place: The folder of the dataset, as it was named.
        benchmark: The retrieval benchmark.
        ratings: Counts of the ratings by a rater that was trained on the simulated people; each is out of fold.
        ratings_file: The file of these ratings.
        tables: Judges against the simulated people, and the tournament.
    """

    place: Path
    benchmark: BenchResult
    ratings: Mapping[str, Any]
    ratings_file: Path
    tables: "Sequence[DisplayTable]"


def run_demo(
    out: Annotated[Path | str, output("Folder of the dataset; a release there is replaced.")] = "demo-dataset",
    options: DemoOptions = DemoOptions(),
    *,
    progress: Callable[[str], None] = lambda line: None,
) -> DemoResult:
    """Builds the embedded demo dataset, benchmarks retrieval, rates replies, and scores judges and systems, offline.

    Args:
        out: The folder of the dataset.
        options: The options.
        progress: Function that receives a line at each stage.

    Returns:
        The dataset, the retrieval benchmark (`benchmark`), the file of ratings, and tables of judges and systems. The
        main table has one row for each split of the dataset.

    Raises:
        InputError: A file cannot be written, or two outputs have the same path.
    """
    from fcconan.building import check_target, output_folder
    from fcconan.data import check_row_target

    folder = Path(out)
    parent = folder.absolute().parent if folder.name in ("", "..") else folder.parent
    rated = options.ratings_out or parent / RATINGS
    check_target(output_folder(folder), "demo")
    for one, other in permutations((folder, rated), 2):
        if one.resolve().is_relative_to(other.resolve()):
            raise InputError(f"{one} is in {other}, or the same: give each of the things to write a place of its own")
    check_row_target(rated)
    built = build("demo", folder)
    found = bench(folder, BenchOptions(cache=False), progress=progress)
    progress("training a rater")
    counts = _rate(folder, rated)
    progress("comparing judges with people")
    return DemoResult(
        built.data,
        built.folder,
        built.manifest,
        place=folder,
        benchmark=found,
        ratings=counts,
        ratings_file=rated,
        tables=_judged(folder, rated),
    )


def _rate(folder: Path, rated: Path) -> dict[str, Any]:
    """Trains a rater on the simulated people, writes its out-of-fold ratings, and returns their counts."""
    from fcconan.data import RowWriter, open_table
    from fcconan.judging import LEARNED_COLUMNS, RatingSummary

    summary = RatingSummary()
    with TemporaryDirectory() as temporary, RowWriter(rated, LEARNED_COLUMNS) as writer:
        trained = train_rater(folder, TrainRaterOptions(encoder="none", folds=5), out=Path(temporary) / "demo")
        rows = [dict(row) for row in open_table("ratings", [trained.source_rows()])]
        summary.add(rows)
        writer.write(rows)
    return summary.result(judges=[{"name": name} for name in dict.fromkeys(row["rater"] for row in rows)])


def _judged(folder: Path, rated: Path) -> "list[DisplayTable]":
    """Returns tables of the agreement of judges with the simulated people, and of the tournament."""
    from fcconan.reporting import format_row_interval, make_table, tournament_tables
    from fcconan.scoring import rank_systems

    correlations = correlate([folder, rated])
    pooled = [row for row in correlations.rows() if (row["level"], row["coefficient"]) == ("pooled", "spearman")]
    columns = {
        "judge": "metric",
        "aspect": "aspect",
        "value": "value",
        "interval": format_row_interval,
        "chance": "chance",
        "one person": "ceiling",
        "replies": "n",
        "missing": "n_missing",
    }
    compared = open_rows("comparisons", folder, RowSelection(filter={"rater_kind": ("human",)}))
    tournament = rank_systems(list(compared), majority=True, population=f"{compared.population};majority")
    ranking = tournament_tables(tournament)[0]
    return [
        make_table("Judges against people (simulated): Spearman over all replies", pooled, columns),
        ranking._replace(title="Tournament (simulated people, majority)"),
    ]
