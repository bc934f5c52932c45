"""The reader of rows: files, dataset folders, names and objects as data frames of one kind of row."""

import hashlib
import pkgutil
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data.columns import MAPPED_COLUMNS, NEEDED, TEXTS, UNKNOWN, first_column
from fcconan.data.content import as_names, did_you_mean
from fcconan.data.files import SUFFIXES, frame_of, list_configs, numbered, part_files, read_file
from fcconan.data.ids import (
    ID_COLUMNS,
    cell_list,
    cell_text,
    is_blank,
    is_missing,
    make_cn_id,
    make_hs_id,
    make_item_id,
    make_reply_id,
    name_with_hash,
)
from fcconan.data.manifest import MANIFEST, read_manifest
from fcconan.data.schemas import ABOUT_REPLY, COMPARISON, PAIR, RATING, REPLY, VOTE
from fcconan.errors import InputError
from fcconan.groups import Rows
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    # A path, the name of a dataset, a data frame, a `datasets.Dataset`, a result, mappings, or a list of these.
    RowSource = str | PathLike[str] | Iterable[Any] | Result
else:
    RowSource = str  # on the command line

Read = tuple["DataFrame", str, str]
NUMBERS = ("value", "low", "high", "seconds", "selection_probability")
MISSING = frozenset(("", "-", "–", ".", "n/a", "na", "#n/a", "nan", "none", "null"))  # where numbers are expected
_KNOWN = {name for schema in (RATING, COMPARISON, VOTE, REPLY, PAIR) for name in schema.kinds} | {"source_id", *NUMBERS}
_NO_ASPECT = re.compile(r"(.*[\W_])?(id|index|count)|n_.*", re.IGNORECASE)


def read(kind: str | Sequence[str], *sources: RowSource, rows: Rows = Rows(), ids: bool = True) -> Read:
    """Reads sources of one kind of row as one data frame.

    A source is a file (CSV with commas, semicolons or tabs in UTF-8, UTF-16 or cp1252; JSON Lines; Parquet), the folder
    of a dataset, its name in the catalogue or on the Hub, a data frame, a `datasets.Dataset`, a result, or mappings.
    Ratings may have one column for each aspect instead of `aspect` and `value`, and item and system instead of
    `reply_id`. Ratings of a dataset get item and system from its replies.

    Args:
        kind: `ratings`, `comparisons` or `replies`; of several, the first that a dataset has, or the one whose columns
            a file has.
        sources: The sources.
        rows: Split, names of columns, and filters.
        ids: Whether missing ids of replies are derived from their texts.

    Returns:
        The rows, with ids as text, numbers as floats and None for missing cells; in `attrs`, the `notes` of datasets
        and the row number of the first row (`first`). Their kind. And the name of the data with hashes, renamed columns
        and filters, for the identity of a result.

    Raises:
        InputError: A source does not exist or cannot be read, columns are missing, a cell is not a number, or no row
            is left.
    """
    return read_together((kind, sources, rows), ids=ids)[0]


def read_together(*asked: tuple[str | Sequence[str], Sequence[Any], Rows], ids: bool = True) -> list[Read]:
    """Reads rows of several kinds, as `read` does. A renamed column must be in one of the sources.

    Args:
        asked: Kind, sources, and which rows are read, for each kind.
        ids: Whether missing ids of replies are derived from their texts.

    Raises:
        InputError: As `read`.
    """
    loaded = []
    for kind, sources, rows in asked:
        kinds = (kind,) if isinstance(kind, str) else (*kind,)
        several = [isinstance(each, list | tuple) and each and not isinstance(each[0], Mapping) for each in sources]
        sources = [*chain(*(each if own else [each] for each, own in zip(sources, several, strict=True)))]
        if not sources:
            raise InputError(f"found no source of {' or '.join(kinds)}: give at least one file, folder or name")
        if rows.split and all(isinstance(each, str | PathLike) and Path(each).suffix in SUFFIXES for each in sources):
            raise InputError(f"{', '.join(map(str, sources))}: files have no splits: leave --split out")
        loaded.append((kinds, [_load(kinds, source, rows.split) for source in sources], rows))
    parts = [part for _, each, _ in loaded for part in each]
    columns = dict.fromkeys(column for frame, _ in parts for column in frame)
    rename = {ours: theirs for _, _, rows in asked for ours, theirs in rows.rename.items()}
    if unknown := [ours for ours in rename if ours not in MAPPED_COLUMNS]:
        near = did_you_mean(unknown[0], MAPPED_COLUMNS)
        raise InputError(f"rows have no column {unknown[0]!r}: {near}choose another")
    _check_columns("+".join(name for _, name in parts), rename.values(), columns, "choose one of these")
    return [_joined(*each, ids=ids) for each in loaded]


def read_rated(
    kind: str | Sequence[str], sources: Sequence[RowSource], replies: RowSource | None, rows: Rows
) -> tuple["DataFrame", str, str, str | None]:
    """Reads ratings, as `read` does, with item and system of the rated replies.

    Args:
        kind: As in `read`.
        sources: As in `read`.
        replies: The rated replies, for ratings without item and system.
        rows: Which ratings are read, and names of columns in all sources.

    Returns:
        The rows, their kind, the name of the data, and that of the replies.

    Raises:
        InputError: As `read`, or a rated reply is not among the replies.
    """
    about = [] if replies is None else [("replies", (replies,), Rows(rename=rows.rename))]
    (table, found, name), *others = read_together((kind, sources, rows), *about)
    if not others or found != "ratings":
        return table, found, name, None
    of_rated = others[0][0]
    if "independent" in of_rated:
        of_rated = of_rated.sort_values("independent", kind="stable")  # false in any split
    return add_replies(table, of_rated), found, name, others[0][2]


def _joined(kinds: tuple[str, ...], parts: Sequence[tuple["DataFrame", str]], rows: Rows, *, ids: bool) -> Read:
    """Returns the rows of all sources of one kind, their kind, and the name of the data."""
    import pandas as pd

    derives = ids and kinds == ("replies",)
    renamed = [_with_ids(part, rows.rename, name) if derives else _renamed(part, rows.rename) for part, name in parts]
    columns = {name for part in renamed for name in part}
    # The kind whose own columns are there, without a hint the last one.
    kind = max(reversed(kinds), key=lambda each: len({*NEEDED.get(each, ())} & columns - {"item_id", "rater"}))
    used = {*rows.rename.values(), *rows.filter} - {*rows.rename}
    frame = pd.concat([_long(kind, part, name, used) for part, (_, name) in zip(renamed, parts, strict=True)])
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))
    name = "+".join(name for _, name in parts)
    name += "".join(f"({ours}:{theirs})" for ours, theirs in rows.rename.items() if theirs in columns)
    for column, given in rows.filter.items():
        _check_columns(name, [column], frame, "choose one of these")
        wanted = {cell_text(value) for value in as_names(given)}
        texts = frame[column].map({cell: cell_text(cell) for cell in frame[column].unique()}.get)
        if unknown := sorted(wanted - set(texts)):
            there = ", ".join(sorted(set(texts))[:20])
            raise InputError(f"found no row with {column} {', '.join(unknown)}: choose among {there}")
        frame, name = frame[texts.isin(wanted)], f"{name}({column}={'/'.join(sorted(wanted))})"
    if frame.empty:
        raise InputError(f"{name} has no rows left: check the file and the filters")
    for column in frame.columns.intersection(ID_COLUMNS):
        texts = {cell: None if is_missing(cell) else cell_text(cell) for cell in frame[column].unique()}
        frame[column] = frame[column].map(texts.get)  # None and nan may both be there, and have no text
    notes = [note for part, _ in parts for note in part.attrs.get("notes", ())]
    unnamed = [own for part, (_, own) in zip(renamed, parts, strict=True) if kind == "ratings" and "rater" not in part]
    notes += [f"{own.partition('@')[0]} has no column rater: its rows are by one rater, `rater`." for own in unnamed]
    typed = _with_numbers(frame, frame.columns.intersection(NUMBERS)).reset_index(drop=True)
    # A function is not copied with each frame, as the numbers would be.
    typed.attrs = {"notes": notes, "first": int(frame.index[0][1]), "rows": lambda places=frame.index: places}
    return typed, kind, name


def _load(kinds: Sequence[str], source: Any, split: str | None) -> tuple["DataFrame", str]:
    """Returns the rows of one source, and its name with a hash."""
    import pandas as pd

    if isinstance(source, str | PathLike):
        # By their names, as they are above this package; only the name of a dataset in the catalogue is built.
        path = Path(source)
        if path.suffix not in SUFFIXES or not path.is_file():
            path = pkgutil.resolve_name("fcconan.building:dataset_folder")(source)
        if (path / "campaign.yaml").is_file():
            frame = pd.DataFrame(pkgutil.resolve_name("fcconan.annotation:vote_rows")(path, split))
            return frame, f"{path.name}@{_hash(frame)}"
        return _read_path(kinds, path, split)
    if isinstance(source, Result):
        source = source.to_frame(source.out)
    if isinstance(source, Mapping) and hasattr(source, "num_rows"):  # a `datasets.DatasetDict`
        if split not in source:
            raise InputError(f"the dataset has the splits {', '.join(source)}: choose one with --split")
        source = source[split]
    elif split is not None:
        raise InputError("rows in memory have no splits: leave split out")
    if hasattr(source, "to_pandas"):  # a `datasets.Dataset`
        source = source.to_pandas()
    frame = source.copy() if isinstance(source, pd.DataFrame) else frame_of(source)
    return frame, f"rows@{_hash(frame)}"


def train_split(source: RowSource) -> str | None:
    """Returns the split of a source's training pairs: `train` of datasets, None of files and of rows in memory."""
    return "train" if isinstance(source, str | PathLike) and Path(source).suffix not in SUFFIXES else None


def rows_of(frame: "DataFrame", which: "Series") -> str:
    """Returns where the first of some rows that `read` returned are in their sources, such as `a.csv, rows 2, 5`."""
    places = frame.index[which] if frame.index.nlevels > 1 else frame.attrs["rows"]()[frame.index[which]]
    found: dict[str, dict[str, None]] = {}
    for name, row in places[:20]:
        found.setdefault(name.partition("@")[0], {})[str(row)] = None
    return "; ".join(f"{name}, row{'s' * (len(own) > 1)} {', '.join(own)}" for name, own in found.items())


def _renamed(frame: "DataFrame", rename: Mapping[str, str]) -> "DataFrame":
    return frame.assign(**{ours: frame[theirs] for ours, theirs in rename.items() if theirs in frame})


def _with_ids(frame: "DataFrame", rename: Mapping[str, str], name: str) -> "DataFrame":
    """Returns replies with renamed columns, texts and ids.

    Replies without `reply_id` or `pair_id` get ids by version 2 of the rule: a hash of item, system, text and
    `source_id` under the names of this package, without renamed columns, so that the id of a row is independent of
    `--rename`. Rows with one hash but other renamed systems or items get `/2`, `/3` ... behind their `source_id`.

    Raises:
        InputError: There are neither ids nor texts.
    """
    found = _renamed(frame, rename)
    has_ids = "reply_id" in found and not found["reply_id"].map(is_missing).any()
    names = {each: first_column(dict.fromkeys(found), each) for each in TEXTS}
    has_texts = all(names[each] in found for each in NEEDED["replies"])
    if found.empty or (has_ids and ({"item_id", "system"} <= {*found} or not has_texts)):
        return found
    for column, theirs in names.items():
        if column in NEEDED["replies"] and theirs not in found:
            lost = f"name it with --rename.{column} COLUMN"
            raise InputError(f"{name} has no column {column}, only {', '.join(frame)}: {lost}")
        found[column] = [*found[theirs]] if theirs in found else None
    found["references"] = found["references"].map(_listed)
    for column in NEEDED["replies"]:
        found[column] = ["" if is_missing(cell) else str(cell) for cell in found[column]]
    own = frame.drop(columns=[*TEXTS], errors="ignore").assign(**{each: found[each] for each in NEEDED["replies"]})
    theirs = first_column(dict.fromkeys(frame), "references")
    own["references"] = frame[theirs].map(_listed) if theirs else [[] for _ in range(len(frame))]
    own, about = _about(own), _about(found)
    seen: dict[str, list[str]] = {}
    reply_ids = []
    of_rows = next((found[each] for each in ("reply_id", "pair_id") if each in found), [None] * len(found))
    for given, mine, told in zip(of_rows, own, about, strict=True):
        if not is_missing(given):
            reply_ids.append(cell_text(given))
            continue
        key, mapped = make_reply_id(*mine[1:]), make_reply_id(*told[1:])
        earlier = seen.setdefault(key, [])
        if earlier and mapped not in earlier:
            key = make_reply_id(*mine[1:4], f"{mine[4]}/{len(earlier) + 1}")
        earlier.append(mapped)
        reply_ids.append(key)
    hs, item, system, _, _ = zip(*about, strict=True)
    return found.assign(reply_id=reply_ids, hs_id=hs, item_id=item, system=system)


def _about(frame: "DataFrame") -> list[tuple[str, str, str, str, str]]:
    """Returns HS, item, system, text and record of each reply; missing ones are derived."""
    found = []
    for row in frame.to_dict("records"):
        hs, item, system, source = (
            None if is_missing(row.get(each)) else cell_text(row[each])
            for each in ("hs_id", "item_id", "system", "source_id")
        )
        hs = hs or make_hs_id(row["hate_speech"])
        item = item or make_item_id(hs, [make_cn_id(text) for text in row["references"]])
        # An empty cell is refused.
        found.append((hs, item, system or ("" if "system" in row else UNKNOWN), row["text"], source or ""))
    return found


def _listed(cell: Any) -> list[str]:
    """Returns the references of a reply as a list, without missing ones."""
    cells = [*cell] if hasattr(cell, "tolist") else cell_list(cell)
    return [str(each) for each in cells if not is_missing(each)]


def _hash(frame: "DataFrame") -> str:
    import pandas as pd

    hashed = pd.util.hash_pandas_object(frame.astype(str), index=False).to_numpy().tobytes()
    return hashlib.sha256(repr([*frame]).encode() + hashed).hexdigest()[:12]


def _long(kind: str, frame: "DataFrame", name: str, used: set[str]) -> "DataFrame":
    """Returns the rows of a source with the columns of their kind, by its name and their row numbers.

    Args:
        kind: Kind of the rows.
        frame: The rows.
        name: Name of the source.
        used: Columns under another name and columns of filters: neither is an aspect.
    """
    import pandas as pd

    frame = pd.concat([numbered(frame)], keys=[name])
    filled = ["system"] if kind == "replies" else [*NEEDED.get(kind, ())[:-1], "rater"]
    if kind == "ratings" and "reply_id" not in frame and {"item_id", "system"} <= set(frame):
        filled += ["item_id", "system"]
        frame["reply_id"] = frame["item_id"].map(cell_text) + "|" + frame["system"].map(cell_text)
    frame = frame.assign(**{each: _cleaned(frame[each]) for each in NUMBERS if each in frame})
    if kind == "ratings" and "reply_id" in frame and not {"aspect", "value"} & set(frame):
        others = [each for each in frame if each not in _KNOWN | used and not _NO_ASPECT.fullmatch(str(each))]
        cleaned = {each: _cleaned(frame[each]) for each in others if frame[each].dtype != bool}
        aspects = [each for each, cells in cleaned.items() if 2 * _as_numbers(cells).count() >= max(cells.count(), 1)]
        if not aspects:
            raise InputError(
                f"{name} has neither value nor a column of numbers for each aspect, only {', '.join(frame)}"
            )
        frame = _with_numbers(frame.assign(**{each: cleaned[each] for each in aspects}), aspects)
        frame = frame if "rater" in frame else frame.assign(rater="rater")
        kept = [each for each in frame if each not in aspects]
        frame = frame.melt(kept, aspects, "aspect", "value", ignore_index=False)
    if kind in NEEDED and kind != "replies":
        lost = " ".join(f"--rename.{column} COLUMN" for column in NEEDED.get(kind, ()) if column not in frame)
        _check_columns(name, NEEDED.get(kind, ()), frame, f"name it with {lost}")
    for column in [each for each in filled if kind in NEEDED and each in frame]:
        if (empty := frame[column].map(is_missing)).any():
            at = rows_of(frame, empty)
            raise InputError(f"{at}: found no {column}, expected one in each row: fill the cell, or remove the row")
    return frame


def _cleaned(cells: "Series") -> "Series":
    """Returns cells with None for marks such as n/a, and with decimal points."""
    has_commas = "decimal" in cells.attrs

    def clean(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        text = cell.strip()
        if text.lower() in MISSING:
            return None
        return re.sub(r"^([+-]?\d+),(\d+)$", r"\1.\2", text) if has_commas else text

    return cells.map({cell: clean(cell) for cell in cells.unique()}.get)


def _as_numbers(cells: "Series") -> "Series":
    import numpy as np
    import pandas as pd

    return pd.to_numeric(cells, errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)


def _with_numbers(frame: "DataFrame", columns: Iterable[str]) -> "DataFrame":
    """Returns rows with columns as floats.

    Raises:
        InputError: A cell is not a number.
    """
    found = {}
    for column in columns:
        found[column] = _as_numbers(frame[column])
        if (wrong := found[column].isna() & frame[column].notna()).any():
            raise InputError(
                f"{rows_of(frame, wrong & wrong.cumsum().eq(1))}: {column} is {frame[column][wrong].iloc[0]!r}, "
                "expected a number such as 3.5, or nothing or n/a where it is missing: correct the cell"
            )
    return frame.assign(**found)


def _check_columns(name: str, columns: Iterable[str], frame: Iterable[str], cure: str) -> None:
    if lost := [column for column in columns if column not in frame]:
        raise InputError(f"{name} has no column {', '.join(lost)}, only {', '.join(frame)}: {cure}")


def _read_path(kinds: Sequence[str], path: Path, split: str | None) -> tuple["DataFrame", str]:
    import pandas as pd

    if path.suffix in SUFFIXES:
        return read_file(path), name_with_hash(path)
    kind = next((each for each in kinds if any((path / each).glob(f"{split or '*'}-*.parquet"))), kinds[0])
    # A reply may be in several splits: those of the same split come first.
    replies = sorted((path / "replies").glob("*.parquet"), key=lambda file: (not file.match(f"{split}-*"), file))
    # The replies of all splits describe ratings.
    files = replies if kind == "replies" and split is None and replies else part_files(path, split, kind)
    frame = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    if kind == "ratings" and "system" not in frame and "replies" in list_configs(path):
        frame = add_replies(frame, pd.concat([pd.read_parquet(file) for file in replies]))
        files = [*files, *replies]
    if not (path / MANIFEST).is_file():
        return frame, "+".join(map(name_with_hash, files))
    manifest = read_manifest(path)
    frame.attrs["notes"] = [*manifest.get("notes", ())]
    return frame, f"{manifest['name']}@{manifest['fingerprint']}" + (f"/{split}" if split else "")


def add_replies(ratings: "DataFrame", replies: "DataFrame") -> "DataFrame":
    """Returns ratings with the item and the system of the rated replies, and `independent` if they have it.

    Raises:
        InputError: A rated reply is not among the replies.
    """
    columns = [name for name in ("item_id", "system", "independent") if name in replies or name != "independent"]
    about = replies[["reply_id", *columns]].drop_duplicates("reply_id")
    found = ratings.drop(columns=columns, errors="ignore").merge(about, on="reply_id", how="left")
    found.attrs = ratings.attrs
    if (lost := found["system"].isna()).any():
        raise InputError(
            f"the replies lack {lost.sum()} of {len(found)} rated ones, such as {found['reply_id'][lost].iloc[0]}: "
            "give the replies that were rated"
        )
    return found


def reply_texts(replies: "DataFrame", name: str) -> "DataFrame":
    """Returns replies with texts, lists of references without empty ones, and messages; a missing text is empty.

    Args:
        replies: Rows of replies, as `read` returns them.
        name: Their name, for messages.

    Raises:
        InputError: There is no column of texts, or a reply occurs twice.
    """
    there = {each: first_column(dict.fromkeys(replies), each) for each in TEXTS}
    if there["text"] is None:
        raise InputError(f"{name} has no column text, only {', '.join(replies)}: name it with --rename.text COLUMN")
    if len(twice := replies["reply_id"][replies["reply_id"].duplicated()].head(1)):
        at = rows_of(replies, replies["reply_id"].isin(twice))
        raise InputError(f"{at}: found the reply {twice.item()} twice: remove one")
    found = replies.reindex(columns=["reply_id", *ABOUT_REPLY])
    found.attrs.pop("rows", None)  # workers get parts of these rows
    for each, theirs in there.items():
        found[each] = [*replies[theirs]] if theirs else ""
    for each in ("text", "hate_speech"):
        found[each] = ["" if is_missing(cell) else str(cell) for cell in found[each]]
    found["references"] = [[each for each in _listed(cell) if not is_blank(each)] for cell in found["references"]]
    return found
