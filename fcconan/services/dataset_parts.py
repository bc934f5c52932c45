"""Parts of datasets as users name them: DATASET[:CONFIG[:SPLIT]]."""

from pathlib import Path
from typing import NamedTuple

from fcconan.services.locations import built_folder

FORM = "DATASET[:CONFIG[:SPLIT]]"


class DatasetPart(NamedTuple):
    """A dataset, and the config and the split of it that are read; None for those that it is usually read from."""

    source: Path
    config: str | None
    split: str | None


def dataset_part(text: str | Path) -> DatasetPart:
    """Reads DATASET[:CONFIG[:SPLIT]]; a text that is a path as a whole is the dataset.

    A dataset of the catalogue is built where it is named.

    Raises:
        InputError: The dataset cannot be built.

    Examples:
        >>> dataset_part("pairs.csv:bronze:test")
        DatasetPart(source=PosixPath('pairs.csv'), config='bronze', split='test')
    """
    pieces = str(text).split(":")
    # The longest beginning that exists is the path: drives and some folders have colons.
    for number in range(len(pieces), max(len(pieces) - 3, 0), -1):
        path = Path(":".join(pieces[:number]))
        if path.exists():
            break
    else:
        number = max(1, len(pieces) - 2)
    config, split = (*pieces[number:], None, None)[:2]
    return DatasetPart(built_folder(":".join(pieces[:number])), config or None, split or None)
