"""The two lists of a product: from a campaign, a built dataset, a file of pairs, or one file each."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fcconan.annotation.campaigns import SETTINGS, Campaign
from fcconan.annotation.sampling.lists import read_list
from fcconan.data import is_blank, make_cn_id, make_hs_id, normalise
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
        campaign = Campaign(source)
        unit = campaign.task.unit
        if unit != "pair":
            raise InputError(f"the campaign {source} is about {unit} units, expected pairs: give two files of texts")
        # Anchors and quiz have texts, too, which nobody wants a score for.
        judged = [unit for unit in campaign.units().values() if unit.role == "item"]
        hs, cns = {unit.hs_id for unit in judged}, {unit.cn_id for unit in judged}
        texts = _read("hs", [source / "hs.jsonl"]), _read("cn", [source / "cn.jsonl"])
        return Lists(
            *(
                {key: text for key, text in side.items() if key in ids}
                for side, ids in zip(texts, (hs, cns), strict=True)
            )
        )
    if source.is_dir():
        parts = {name: sorted(source.glob(f"{name}/*.parquet")) for name in ("queries", "corpus", "pairs")}
        if parts["queries"] and parts["corpus"]:
            return Lists(_read("hs", parts["queries"]), _read("cn", parts["corpus"]))
        if not parts["pairs"]:
            raise InputError(f"{source} has neither pairs nor queries and corpus: give {_FORMS}")
        return Lists(_read("hs", parts["pairs"], paired=True), _read("cn", parts["pairs"], paired=True))
    return Lists(_read("hs", [source], paired=True), _read("cn", [source], paired=True))


def _read(side: str, files: Iterable[Path], *, paired: bool = False) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in files:
        for row in read_list(file):
            key, text = _entry(side, row, row.place, paired=paired)
            if found.setdefault(key, text) != text and normalise(found[key]) != normalise(text):
                raise InputError(f"{row.place}: {key} has another text above: give every text an id of its own")
    return found


def _entry(side: str, row: dict[str, Any], place: str, *, paired: bool) -> tuple[str, str]:
    names = _TEXTS[side][:1] if paired else _TEXTS[side]
    column = next((name for name in names if name in row), None)
    if column is None:
        raise InputError(f"{place} has the columns {', '.join(row)}, expected {' or '.join(names)}: rename one")
    text = row[column]
    if not isinstance(text, str) or is_blank(text):
        raise InputError(f"{place}: {column} is {text!r}, expected a text: remove the row or mend it")
    given = next((row[name] for name in _IDS[side] if row.get(name)), None)
    return str(given or _OF_TEXT[side](text)), text
