"""Results of services that ask models: also of dry runs, with sentences about stored answers and failures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import fcconan
from fcconan.services.connections import Notices
from fcconan.services.results import Result

if TYPE_CHECKING:
    from fcconan.models import Rehearsal

Value = TypeVar("Value")
DRY_RUN = "dry_run"
NO_NOTICES = Notices()


class Progress(Protocol):
    """Receives how much of long work is done."""

    def __call__(self, done: int, total: int | None) -> None:
        """Receives the number of finished units and of all units, None where that is not known."""


@dataclass(frozen=True, repr=False)
class ModelResult(Result):
    """Result of a service that asks models. After a dry run, its only key is `dry_run`, with a row for each model.

    Attributes:
        notices: Sentences about stored answers, and about models that changed under one name.
        notes: Sentences about the input.
        problems: Why there is no value at all, a sentence for each judge of which that is true.
        failed: Whether another run may find more, as requests failed, or whether there is no value at all.
        at_most: Whether the counts of a dry run are upper bounds.
    """

    notices: Notices = NO_NOTICES
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    failed: bool = False
    at_most: bool = False
    signatures: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[str] = "result"

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing was sent."""
        return DRY_RUN in self.data

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns the rows of the main table."""
        rows: Sequence[Mapping[str, Any]] = self.data[DRY_RUN if self.is_dry_run else self.table]
        return rows

    @property
    def signature(self) -> str:
        """The package version and the hash of the result without its place."""
        import json

        from fcconan.data import short_hash

        content = {name: value for name, value in self.data.items() if name not in ("out", "used")}
        return f"fcconan:{fcconan.__version__}|{self.kind}:{short_hash(json.dumps(content, sort_keys=True))}"


def dry_run_of(rehearsals: "Iterable[Rehearsal]", prices: Path | None) -> dict[str, Any]:
    """Returns the JSON object of a dry run: what each model would be asked; a token is estimated as four bytes.

    Raises:
        InputError: A model has no price.
    """
    return {DRY_RUN: [each.summary(prices) for each in rehearsals]}


def reporting(values: Iterable[Value], total: int | None, progress: Progress | None) -> Iterator[Value]:
    """Yields values and reports their number after each.

    Args:
        values: The values.
        total: Their number, where it is known.
        progress: Receives the counts; None reports nothing.
    """
    if progress is not None:
        progress(0, total)
    for done, value in enumerate(values, 1):
        yield value
        if progress is not None:
            progress(done, total)
