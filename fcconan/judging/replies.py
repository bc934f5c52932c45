"""The replies and pairs that a judge is given: a built dataset, or a file of rows."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fcconan.data import (
    SUFFIXES,
    cell_list,
    check_built,
    id_of,
    is_missing,
    make_cn_id,
    make_hs_id,
    make_item_id,
    make_reply_id,
    read_rows,
    release_folder,
)
from fcconan.errors import InputError

Row = dict[str, Any]
# Names that texts go by in files of other people.
_OTHER_NAMES = {
    "text": ("counter_narrative", "counter_speech", "counterspeech", "reply", "response"),
    "hate_speech": ("hatespeech", "hateSpeech", "HS", "hs"),
    "references": ("reference",),
}
UNKNOWN = "unknown"


def load_replies(
    source: Path, *, split: str | None = None, columns: Mapping[str, str] | None = None, config: str = "replies"
) -> "Replies":
    """Opens replies.

    Args:
        source: A folder that `fcconan build` wrote, the name of one on the Hub, or a CSV, JSONL or parquet file.
        split: A split of the folder; needed where it has several.
        columns: Name of a column here -> its name in the file, such as `text` -> `predicted_counterspeech`.
        config: Which part of the folder; pairs are judged as replies, too.

    Raises:
        InputError: There is no such file, folder or part.
    """
    return Replies(files_of(source, split, config), columns or {})


class Replies:
    """Rows with `reply_id`, `item_id`, `hs_id`, `hate_speech`, `text`, `system` and `references`, read each time anew.

    Ids that a file does not have follow from the texts. A file of pairs gives each pair as the reply of the system
    `unknown`.
    """

    def __init__(self, files: list[Path], columns: Mapping[str, str]) -> None:
        self.files, self._columns = files, columns

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows.

        Raises:
            InputError: A file lacks a column, there are no rows, an id is none or stands twice, or what should be a
                text is none.
        """
        seen: set[int] = set()  # of hashes, for ids are long
        number = 0
        for file in self.files:
            names: dict[str, str | None] | None = None
            for number, row in enumerate(read_rows(file), start=1):
                names = names or self._names(row, file)
                place = f"{file}, row {number}"
                complete = _complete(row, names | _later_columns(row, names), place)
                short = hash(complete["reply_id"])
                if short in seen:
                    raise InputError(
                        f"{place}: the reply {complete['reply_id']} stands there already; remove one, or tell them "
                        "apart by a column `reply_id`"
                    )
                seen.add(short)
                yield complete
        if not number:
            raise InputError(f"{', '.join(map(str, self.files))} has no rows: give replies to judge")

    def _names(self, row: Row, file: Path) -> dict[str, str | None]:
        """Returns under which name the file has each column. An empty cell never makes another column serve."""
        for theirs in self._columns.values():
            if theirs not in row:
                raise InputError(f"{file} has no column {theirs!r}, but {', '.join(row)}: name one of these")
        names: dict[str, str | None] = dict(self._columns)
        for name, others in _OTHER_NAMES.items():
            if name not in names:
                names[name] = next((each for each in (name, *others) if each in row), None)
        for name in ("text", "hate_speech"):
            if names[name] is None:
                raise InputError(
                    f"{file} has the columns {', '.join(row)}, expected `{name}`: name it with --column {name}=COLUMN"
                )
        return names


def _later_columns(row: Row, names: Mapping[str, str | None]) -> dict[str, str]:
    """Returns columns that the first row of a JSONL file lacks and this one has."""
    return {
        name: found
        for name, theirs in names.items()
        if theirs is None and (found := next((each for each in (name, *_OTHER_NAMES[name]) if each in row), None))
    }


def _complete(row: Row, names: Mapping[str, str | None], place: str) -> Row:
    found = {**row, **{name: row.get(theirs) if theirs else None for name, theirs in names.items()}}
    for name in ("text", "hate_speech"):
        found[name] = "" if is_missing(found[name]) else _text(found[name], name, place)
    found["references"] = _references(found["references"], place)
    found["hs_id"] = id_of(found, "hs_id", place) or make_hs_id(found["hate_speech"])
    found["system"] = id_of(found, "system", place) or UNKNOWN
    references = [make_cn_id(text) for text in found["references"]]
    found["item_id"] = id_of(found, "item_id", place) or make_item_id(found["hs_id"], references)
    given = id_of(found, "reply_id", place) or id_of(found, "pair_id", place)
    source = id_of(found, "source_id", place) or ""
    found["reply_id"] = given or make_reply_id(found["item_id"], found["system"], found["text"], source)
    return found


def _text(value: Any, name: str, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{place}: {name} is {repr(value)[:40]}, expected a text; mend that row, or name the column of texts with "
            f"--column {name}=COLUMN"
        )
    return value


def _references(value: Any, place: str) -> list[str]:
    listed = [] if is_missing(value) else cell_list(value)
    return [_text(each, "references", place) for each in listed if each is not None]


def files_of(source: Path, split: str | None, config: str) -> list[Path]:
    """Returns the files of one split of one part of a dataset folder, or the file itself.

    Raises:
        InputError: There is no such file, folder, part or split.
    """
    if source.suffix in SUFFIXES:
        if split is not None:
            raise InputError(f"{source} is a file and has no splits: leave --split out")
        if source.is_dir():
            raise InputError(f"{source} is a folder; expected a file of rows: give a dataset's folder another name")
        if not source.is_file():
            raise InputError(f"there is no file {source}: check the path")
        return [source]
    source = release_folder(str(source))
    if source.name == "demo-dataset" and not source.exists():
        raise InputError(f"there is no folder {source} yet: `fcconan demo` writes it")
    check_built(str(source))
    if not source.is_dir():
        raise InputError(
            f"{source} is neither a dataset folder nor a file of rows: give a folder that `fcconan build` wrote, or a "
            f"file that ends in {', '.join(SUFFIXES)}"
        )
    if any(source.glob("*.parquet")) and not any(source.glob("*/*.parquet")):
        folder = source if source.name not in ("", "..") else source.resolve()
        raise InputError(f"{source} is the config {folder.name} of a dataset, not its folder: give {folder.parent}")
    found = sorted((source / config).glob("*.parquet"))
    if not found:
        there = ", ".join(sorted({each.parent.name for each in source.glob("*/*.parquet")}))
        told = f"{there}; choose one of these, or another dataset" if there else "no parquet files; run `fcconan build`"
        raise InputError(f"{source} has no config {config!r}: it has {told}")
    splits = sorted({path.name.split("-")[0] for path in found})
    if split is None and len(splits) > 1:
        raise InputError(f"{source / config} has the splits {', '.join(splits)}: choose one with --split")
    if split is not None and split not in splits:
        raise InputError(f"{source / config} has no split {split!r}: it has {', '.join(splits)}")
    return [path for path in found if path.name.split("-")[0] == (split or splits[0])]
