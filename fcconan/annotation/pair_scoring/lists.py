"""The lists of HS and CNs whose pairs are scored: from a campaign, a dataset, a file of pairs, or two files."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fcconan.annotation.campaigns import SETTINGS, Campaign
from fcconan.annotation.sampling.corpus import text_in
from fcconan.annotation.sampling.lists import read_list
from fcconan.data import make_cn_id, make_hs_id, normalise
from fcconan.errors import InputError

_TEXTS = {"hs": ("hate_speech", "text"), "cn": ("counter_narrative", "text")}
_IDS = {"hs": ("hs_id", "_id"), "cn": ("cn_id", "_id")}
_OF_TEXT = {"hs": make_hs_id, "cn": make_cn_id}
_FORMS = "a campaign, a dataset with pairs or with queries and corpus, a file of pairs, or a file of HS and one of CNs"


class Lists(NamedTuple):
    """Texts by id, in the order of their first occurrence."""

    hs: dict[str, str]
    cn: dict[str, str]


def read_lists(sources: Sequence[Path]) -> Lists:
    """Reads the HS and CNs to pair.

    Args:
        sources: Folder of a campaign, folder of a dataset, or a file of rows with `hate_speech` and
            `counter_narrative`; or two files, of HS and of CNs: `.txt` with one text per line, or rows with `text` (or
            these names). Missing ids (`hs_id`, `cn_id`, `_id`) are computed from the texts.

    Returns:
        The two lists.

    Raises:
        InputError: A source cannot be read, lacks these columns, has an empty text, or two texts with the same id.
    """
    if len(sources) == 2:
        return Lists(*(_read(side, [source]) for side, source in zip(_TEXTS, sources, strict=True)))
    if len(sources) != 1:
        raise InputError(f"found {len(sources)} sources, expected {_FORMS}")
    (source,) = sources
    if (source / SETTINGS).is_file():
        return _judged(Campaign(source))
    parts = {name: sorted(source.glob(f"{name}/*.parquet")) for name in ("queries", "corpus", "pairs")}
    if parts["queries"] and parts["corpus"]:
        return Lists(_read("hs", parts["queries"]), _read("cn", parts["corpus"]))
    files = parts["pairs"] if source.is_dir() else [source]
    if not files:
        raise InputError(f"{source} has neither pairs nor queries and corpus: give {_FORMS}")
    return Lists(_read("hs", files, paired=True), _read("cn", files, paired=True))


def _judged(campaign: Campaign) -> Lists:
    """Returns the texts of a campaign on pairs, without gold questions and qualification tests."""
    if campaign.task.unit != "pair":
        raise InputError(f"{campaign.folder} has a task on a {campaign.task.unit}, expected pairs: give two files")
    items, texts = campaign.items(), campaign.texts()
    judged = {unit.hs_id for unit in items}, {unit.cn_id for unit in items}
    return Lists(*({key: str(row["text"]) for key, row in texts.items() if key in ids} for ids in judged))


def _read(side: str, files: Iterable[Path], *, paired: bool = False) -> dict[str, str]:
    names = _TEXTS[side][:1] if paired else _TEXTS[side]
    found: dict[str, str] = {}
    for row in (row for file in files for row in read_list(file)):
        column = next((name for name in names if name in row), None)
        if column is None:
            raise InputError(f"{row.place} has the columns {', '.join(row)}, expected {' or '.join(names)}: rename one")
        text = text_in(row, column, row.place)
        given = next((row[name] for name in _IDS[side] if row.get(name)), None)
        key = str(given or _OF_TEXT[side](text))
        if found.setdefault(key, text) != text and normalise(found[key]) != normalise(text):
            raise InputError(f"{row.place}: {key} is the id of another text as well: use unique ids")
    return found
