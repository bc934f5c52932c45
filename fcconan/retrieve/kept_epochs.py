"""Kept runs of systems behind an endpoint belong to an epoch of its answers: `--fresh` ranks anew."""

import json
from collections.abc import Callable
from pathlib import Path

from fcconan.models.answers import Answers
from fcconan.retrieve.collection import Collection
from fcconan.retrieve.kept import KeptRuns
from fcconan.retrieve.system import Retriever


class EpochRuns(KeptRuns):
    """A folder of finished runs.

    Args:
        folder: As of `KeptRuns`.
        answers: Opens the answers from which systems behind an endpoint make their runs.
    """

    def __init__(self, folder: Path, answers: Callable[[], Answers]) -> None:
        super().__init__(folder)
        self._answers = answers

    def path(self, system: Retriever, collection: Collection, depth: int) -> Path | None:
        """Returns where a run is kept; None for a system that does not say what changes its output."""
        path = super().path(system, collection, depth)
        if path is None or '"endpoint"' not in json.dumps(getattr(system, "configuration", None), default=str):
            return path
        answers = self._answers()
        if answers.is_fresh:
            answers.prepare()
        epoch = answers.epoch
        return path.with_stem(f"{path.stem}-{epoch}") if epoch else path
