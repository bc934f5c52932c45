"""The reproduction table of the multi-aspect paper, of which one value can be counted."""

from collections import Counter
from pathlib import Path

import pytest

from fcconan.reproduction.comparison import reproduce
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.multi_aspect import recompute
from tests.upstream.conftest import Release

pytestmark = [pytest.mark.upstream, pytest.mark.long]


def test_the_training_pairs_are_4003(release: Release, tmp_path: Path) -> None:
    (tmp_path / "multi-aspect").symlink_to(release("multi-aspect"))
    cells = reproduce("multi-aspect", Datasets(tmp_path), recompute)
    assert Counter(cell.status for cell in cells) == {"not_released": 1051, "exact": 1}
    (exact,) = [cell for cell in cells if cell.status == "exact"]
    assert (exact.table, exact.row, exact.recomputed) == ("text 3", "training-pairs", 4003)
