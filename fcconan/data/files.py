"""Files of rows and dataset folders: which files are read, and which kind of rows they hold."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from fcconan.data.columns import JUDGEMENT, read_mapping, renamed
from fcconan.data.content import check_built
from fcconan.data.row_files import SUFFIXES, read_rows
from fcconan.errors import InputError

_ORDER = ("comparisons", "ratings", "votes")


def row_file(path: Path) -> Path:
    """Returns the path of a file of rows that is there.

    Raises:
        InputError: It is a folder, or there is none.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file of rows: give a dataset's folder another name")
    if not path.is_file():
        raise InputError(f"there is no file {path}: check the path")
    return path


def part_files(folder: Path, split: str | None, part: str) -> list[Path]:
    """Returns the files of one split of one part of a dataset folder.

    Raises:
        InputError: There is no such folder, part or split.
    """
    if folder.name == "demo-dataset" and not folder.exists():
        raise InputError(f"there is no folder {folder} yet: `fcconan demo` writes it")
    check_built(str(folder))
    if not folder.is_dir():
        raise InputError(
            f"{folder} is neither a dataset folder nor a file of rows: give a folder that `fcconan build` wrote, or a "
            f"file that ends in {', '.join(SUFFIXES)}"
        )
    if any(folder.glob("*.parquet")) and not any(folder.glob("*/*.parquet")):
        config = folder if folder.name not in ("", "..") else folder.resolve()
        raise InputError(f"{folder} is the config {config.name} of a dataset, not its folder: give {config.parent}")
    found = sorted((folder / part).glob("*.parquet"))
    if not found:
        there = ", ".join(sorted(parts_of(folder)))
        cure = f"{there}; choose one of these, or another dataset" if there else "no parquet files; run `fcconan build`"
        raise InputError(f"{folder} has no config {part!r}: it has {cure}")
    splits = sorted({path.name.split("-")[0] for path in found})
    if split is None and len(splits) > 1:
        raise InputError(f"{folder / part} has the splits {', '.join(splits)}: choose one with --split")
    if split is not None and split not in splits:
        raise InputError(f"{folder / part} has no split {split!r}: it has {', '.join(splits)}")
    return [path for path in found if path.name.split("-")[0] == (split or splits[0])]


def parts_of(folder: Path) -> set[str]:
    """Returns the configs of a dataset folder."""
    return {file.parent.name for file in folder.glob("*/*.parquet")}


def detect_kind(
    paths: Sequence[Path],
    *,
    columns: Collection[str] = (),
    split: str | None = None,
    rename: Mapping[str, str] | None = None,
    wide: bool = False,
) -> str:
    """Returns whether sources hold ratings, comparisons or votes.

    Args:
        paths: Files and dataset folders. The columns of the first file count, then the parts that all folders have.
        columns: The columns of sources in memory, which count where there is no file.
        split: The split of the folders that is read.
        rename: Name of a column here -> its name in the files.
        wide: Whether the files have a column for each rater, so that they lack the column of judgements.

    Raises:
        InputError: They hold none of these, or not in this split.
    """
    files = [path for path in paths if path.suffix in SUFFIXES]
    folders = [path for path in paths if path.suffix not in SUFFIXES]
    first = next(iter(read_rows(row_file(files[0]))), {}) if files else {}
    mapping = {**(read_mapping(files[0])[0] if files else {}), **(rename or {})}
    columns = set(renamed(first if files else dict.fromkeys(columns), mapping))
    if wide and columns:
        return "comparisons" if "system_a" in columns else "votes" if "pair_id" in columns else "ratings"
    for kind in _ORDER:
        if JUDGEMENT[kind] in columns:
            return kind
    parts = set.intersection(*map(parts_of, folders)) if folders else set()
    there = [kind for kind in JUDGEMENT if kind in parts]
    if there:
        having = [each for each in there if any(any((at / each).glob(f"{split}-*.parquet")) for at in folders)]
        if split is not None and having and there[0] not in having:
            raise InputError(
                f"the split {split} has {' and '.join(having)}, no {there[0]}: add --kind {' or --kind '.join(having)}"
            )
        return there[0]
    if not parts and not columns and files:
        raise InputError(f"{files[0]} has no rows: check the file")
    raise InputError(
        f"found {', '.join(sorted(columns or parts)) or 'no columns'}, expected `value` (ratings), `verdict` "
        "(comparisons) or `label` (votes): name it with --rename, or a column for each rater with --wide-column"
    )
