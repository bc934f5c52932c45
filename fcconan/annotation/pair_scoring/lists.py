"""The two lists of a product: from a campaign, a built dataset, a file of pairs, or one file each."""

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
    """Texts by their ids, each id once, in the order in which they first stand in the source."""

    hs: dict[str, str]
    cn: dict[str, str]


def read_lists(sources: Sequence[Path]) -> Lists:
    """Reads the HS and the CNs that are to be paired.

    Args:
        sources: A campaign's folder, a dataset's folder, or a file of rows with `hate_speech` and `counter_narrative`;
            or two files, of HS and of CNs: `.txt` with a text a line, or rows with `text` (or the names above). Ids
            that a file does not have (`hs_id`, `cn_id`, `_id`) follow from the texts.

    Raises:
        InputError: A source cannot be read, has no such rows, an empty text, or two texts under one id.
    """
    if len(sources) == 2:
        return Lists(*(_read(side, [source]) for side, source in zip(_TEXTS, sources, strict=True)))
    if len(sources) != 1:
        raise InputError(f"{len(sources)} sources were given: give {_FORMS}")
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
    """The texts of a campaign on pairs, without those of gold questions and the qualification test."""
    if campaign.task.unit != "pair":
        raise InputError(f"{campaign.folder} is about {campaign.task.unit} units, expected pairs: give two files")
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
            raise InputError(f"{row.place}: {key} has another text above: give every text an id of its own")
    return found
