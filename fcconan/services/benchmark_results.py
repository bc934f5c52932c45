"""The result of the retrieval benchmark, and its form for ranx."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import fcconan
from fcconan.services.connections import Notices
from fcconan.services.results import Result

if TYPE_CHECKING:
    from pandas import DataFrame


class RanxData(NamedTuple):
    """Judgements and runs as ranx has them.

    Attributes:
        qrels: Partition -> `ranx.Qrels`.
        runs: System -> `ranx.Run`.
    """

    qrels: Mapping[str, Any]
    runs: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class BenchResult(Result):
    """The result of a benchmark; its main table is the leaderboard. After a dry run, it has the requests of each model.

    Attributes:
        details: Texts, labels, runs and scores of each query, for reports.
        own: Names of the user's own systems.
        notices: Sentences about stored responses, and about different models that responded under one name.
        reused: A sentence for each cached run of a system behind an endpoint.
        used: Requests, tokens and cost of each model in this run.
        report: The folder of the report, or None.
    """

    details: Mapping[str, Any] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    notices: Notices = field(default_factory=Notices)
    reused: tuple[str, ...] = ()
    used: tuple[Mapping[str, Any], ...] = ()
    report: Path | None = None
    signatures: ClassVar[tuple[str, ...]] = ()

    @property
    def signature(self) -> str:
        """All settings that change the values, in one line."""
        return f"fcconan:{fcconan.__version__}|bench:dry-run" if self.is_dry_run else str(self.data["signature"])

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns the leaderboard, best average first: for each system the average and the primary metric.

        Each value has its interval, None without one. Systems without any ranking follow, without values.
        """
        from fcconan.retrieval import leaderboard_rows

        return super().rows() if self.is_dry_run else leaderboard_rows(self.data)

    def scores(self) -> "DataFrame":
        """Returns a table with a row for every system, partition and metric, and for the message AUC."""
        from pandas import DataFrame

        from fcconan.retrieval import all_rows

        return DataFrame(list(all_rows(self.data)))

    def to_ranx(self) -> RanxData:
        """Returns judgements and runs for ranx: `ranx.evaluate(qrels[NAME], runs[SYSTEM], ..., make_comparable=True)`.

        The score of a CN is the number of CNs from its rank on, so that ties stay broken as in this benchmark. Under
        protocol `sound`, queries without a positive are left out of the judgements, as they are left out of means.
        """
        from fcconan.retrieval import to_ranx

        every_query = self.data["protocol"] == "paper"
        return RanxData(*to_ranx(self.details["labels"], self.details["deep_runs"], every_query=every_query))

    def write_report(self, folder: Path | str, *, texts: bool = True) -> Path:
        """Writes tables, plots, page and runs to a folder; an earlier report there is replaced.

        Args:
            folder: The folder.
            texts: Whether texts of HS and CNs are included.

        Returns:
            The page.

        Raises:
            InputError: The folder holds files that no report wrote, or cannot be written.
        """
        from fcconan.reporting import write_report

        return write_report(Path(folder), self.data, self.details, texts=texts)[0]
