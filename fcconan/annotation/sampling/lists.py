"""Units of a campaign from given texts: two lists of texts, or replies of systems; and the folder of a new campaign."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from fcconan.annotation.campaigns import RATERS, SETTINGS, Row, Settings, Unit, create
from fcconan.annotation.sampling.combinations import (
    DRAW_CN,
    DRAW_HS,
    CampaignContent,
    check_disjoint,
    draw,
    round_to_multiple,
)
from fcconan.annotation.sampling.corpus import Corpus, spoken_pairs, text_in, words_of
from fcconan.annotation.sampling.gold_questions import unit_of
from fcconan.data import (
    REPLY,
    SUFFIXES,
    PlacedRow,
    is_blank,
    make_cn_id,
    make_hs_id,
    make_pair_id,
    normalise,
    open_table,
    read_text,
)
from fcconan.errors import InputError
from fcconan.judging import Task, draw_pairs, reply_pairs

Side = Literal["hs", "cn"]
_COLUMNS: dict[Side, tuple[str, ...]] = {
    "hs": ("hate_speech", "text", "hs_type", "hs_subtype", "source_id"),
    "cn": ("counter_narrative", "text", "cn_type", "age", "gender", "education", "source_id"),
}
_ID = {"hs": make_hs_id, "cn": make_cn_id}


def read_list(file: Path, columns: Mapping[str, str] | None = None) -> Iterator[PlacedRow]:
    """Yields the rows of a file of rows, or the lines of a text file as rows with `text`.

    Args:
        file: A file with the suffix .txt, or a file of rows.
        columns: Name of a column -> its name in the file; columns that the file lacks are ignored.

    Raises:
        InputError: The file cannot be read, or has another format.
    """
    if file.suffix == ".txt":
        yield from _lines(file)
        return
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file} has another format, expected a file with the suffix .txt, {', '.join(SUFFIXES)}")
    yield from open_table("rows", [file], rename=columns, complete=False)


def _lines(file: Path) -> Iterator[PlacedRow]:
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        if line.strip():
            yield PlacedRow({"text": line.strip()}, f"{file.name}, line {number}")


def list_texts(rows: Iterable[Row], side: Side) -> list[Row]:
    """Returns the texts of a list with ids and metadata, in its order.

    Args:
        rows: Rows with a column `text`, or `hate_speech` (`counter_narrative`).
        side: `hs` or `cn`.

    Returns:
        Rows with `hs_id` (`cn_id`), `text` and metadata.

    Raises:
        InputError: A text is missing.
    """
    own, *others = _COLUMNS[side]
    found = []
    for number, row in enumerate(rows, start=1):
        column = own if own in row else "text"
        text = text_in(row, column if column in row else own, getattr(row, "place", f"row {number}"))
        about = {name: row[name] for name in others if name != "text" and row.get(name) is not None}
        found.append({f"{side}_id": _ID[side](text), "text": text, **about})
    return found


def pair_lists(
    hs: Sequence[Row],
    cns: Sequence[Row],
    *,
    corpus: Corpus | None = None,
    n_hs: int | None = None,
    n_cns: int | None = None,
    divisible_by: int = 1,
    seed: int = 0,
) -> CampaignContent:
    """Makes the units of a campaign on the pairs of two lists.

    Args:
        hs: HS, as returned by `list_texts`.
        cns: CNs, as returned by `list_texts`.
        corpus: Corpus whose pairs are left out.
        n_hs: Number of HS to sample; None for all, in their order.
        n_cns: Number of CNs to sample; None for all, in their order, or for the largest number that the divisor allows.
        divisible_by: Divisor of the number of pairs.
        seed: Seed of the samples.

    Raises:
        InputError: A list is shorter than requested, all pairs occur in the corpus, or the number of pairs is not a
            multiple of the divisor.
    """
    different = {"hs": _different(hs), "cn": _different(cns)}
    if n_hs is not None and n_hs > len(different["hs"]):
        found = len(different["hs"])
        raise InputError(f"{n_hs} HS are requested, but the list has {found} different ones: give a smaller --hs")
    chosen_hs = _drawn(different["hs"], "hs_id", n_hs, seed, DRAW_HS)
    as_given = n_cns is None and divisible_by == 1
    order = _drawn(different["cn"], "cn_id", None if as_given else len(different["cn"]), seed, DRAW_CN)
    known = _known(chosen_hs, order, corpus)
    pairs, total = [], 0
    for cn in order:
        total += sum((one["hs_id"], cn["cn_id"]) not in known for one in chosen_hs)
        pairs.append(total)
    if order and not total and known:
        raise InputError(
            f"all {len(chosen_hs) * len(order)} pairs of --hs-file and --cn-file occur in --corpus, so none is left; "
            "--corpus names pairs to leave out: give another one, or none"
        )
    how = f"the list has {len(order)} different ones"
    if known:
        how += f", and {len(known)} of their pairs occur in the corpus"
    chosen = order[: round_to_multiple(n_cns, pairs, divisible_by=divisible_by, how=how)]
    texts = {"hs.jsonl": chosen_hs, "cn.jsonl": chosen}
    combinations = [(one["hs_id"], other["cn_id"]) for one in chosen_hs for other in chosen]
    units = [Unit(make_pair_id(*pair), hs_id=pair[0], cn_id=pair[1]) for pair in combinations if pair not in known]
    counts = {
        "hs_given": len(hs),
        "hs_twice": len(hs) - len(different["hs"]),
        "hs_sampled": len(chosen_hs),
        "cns_given": len(cns),
        "cns_twice": len(cns) - len(different["cn"]),
        "cns_sampled": len(chosen),
        "combinations": len(combinations),
    }
    if corpus is not None:
        counts["dropped_as_existing"] = len(combinations) - len(units)
    counts["pairs"] = len(units)
    if corpus is not None:
        counts |= check_disjoint(units, texts, corpus)
    made_from = {"kind": "lists", "hs": n_hs, "cns": n_cns, "divisible_by": divisible_by, "counts": counts}
    return CampaignContent(units, texts, made_from)


def _different(rows: Sequence[Row]) -> list[Row]:
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(words_of(row["text"]), row)
    return list(found.values())


def _drawn(rows: Sequence[Row], key: str, number: int | None, seed: int, stream: int) -> list[Row]:
    if number is None:
        return list(rows)
    by_id = {row[key]: row for row in rows}
    return [by_id[each] for each in draw(sorted(by_id), number, seed, stream)]


def _known(hs: Sequence[Row], cns: Sequence[Row], corpus: Corpus | None) -> set[tuple[str, str]]:
    """Returns the ids of the combinations that occur in a corpus."""
    if corpus is None:
        return set()
    one = {words_of(row["text"]): row["hs_id"] for row in hs}
    other = {words_of(row["text"]): row["cn_id"] for row in cns}
    spoken = spoken_pairs(corpus)
    return {(one[left], other[right]) for left, right in spoken if left in one and right in other}


def reply_units(replies: Iterable[Row], context: Sequence[str] = ()) -> CampaignContent:
    """Makes a unit of every reply with words.

    Args:
        replies: Complete rows, as returned by `fcconan.data.open_table`.
        context: Further columns that the task shows.

    Raises:
        InputError: No reply has words, or none has a column that the task shows.
    """
    rows, counts = _read(replies, context)
    units = [unit_of(row) for row in rows]
    return CampaignContent(units, {"replies.jsonl": rows}, {"kind": "replies", "counts": counts})


def comparison_units(
    replies: Iterable[Row], context: Sequence[str] = (), *, n_pairs: int | None = None, seed: int = 0
) -> CampaignContent:
    """Makes units from pairs of systems' replies to the same item.

    Pairs of equal texts are left out, as in `fcconan judge compare`.

    Args:
        replies: Complete rows, as returned by `fcconan.data.open_table`.
        context: Further columns that the task shows.
        n_pairs: Number of random pairs; None for all pairs.
        seed: Seed of the selection.

    Raises:
        InputError: There are no pairs, or fewer pairs than requested.
    """
    rows, counts = _read(replies, context)
    every = reply_pairs(rows)
    pairs = [pair for pair in every if len({normalise(str(each["text"])) for each in pair}) > 1]
    identical = len(every) - len(pairs)
    if n_pairs is not None and n_pairs > len(pairs):
        raise InputError(
            f"{n_pairs} comparisons are requested, but there are {len(pairs)} ({identical} of {len(every)} pairs have "
            f"two equal texts): give --pairs {len(pairs)} or fewer"
        )
    chosen = draw_pairs(pairs, n_pairs, seed)
    units = [unit_of(a, b) for a, b in chosen]
    used = {each["reply_id"] for pair in chosen for each in pair}
    counts |= {"possible": len(every), "identical": identical, "comparisons": len(units)}
    texts = {"replies.jsonl": [row for row in rows if row["reply_id"] in used]}
    return CampaignContent(units, texts, {"kind": "comparisons", "asked_for": n_pairs, "counts": counts})


def _read(replies: Iterable[Row], context: Sequence[str]) -> tuple[list[Row], dict[str, int]]:
    rows = []
    empty = 0
    for row in replies:
        if is_blank(row["text"]):
            empty += 1
            continue
        kept = {name: row.get(name) for name in (*REPLY.kinds, "background")}
        rows.append({name: value for name, value in kept.items() if value not in (None, "", [])})
    if not rows:
        raise InputError(f"none of {empty} replies has a word: check the column of the texts")
    wordless = next((row for row in rows if is_blank(row.get("hate_speech", ""))), None)
    if wordless is not None:
        raise InputError(f"the reply {wordless['reply_id']} has no hate speech: add it, or remove the reply")
    texts = {(row["item_id"], normalise(row["text"])) for row in rows}
    counts = {
        "replies": len(rows) + empty,
        "systems": len({row["system"] for row in rows}),
        "items": len({row["item_id"] for row in rows}),
        "empty": empty,
        "same_text": len(rows) - len(texts),
    }
    for name in ("background", "references"):
        if name in context:
            counts[f"without_{name}"] = without = sum(name not in row for row in rows)
            if without == len(rows):
                raise InputError(f"the task shows {name}, which no reply has: map the column, or choose another task")
    return rows, counts


def create_campaign(
    folder: Path, settings: Settings, task: Task, material: CampaignContent, guidelines: str | None = None
) -> bool:
    """Creates a campaign, unless the same campaign exists.

    Files of later steps are not compared.

    Args:
        folder: Folder of the campaign.
        settings: Content of `campaign.yaml`, without `made_from`.
        task: Annotation task.
        material: Content of the campaign.
        guidelines: Guidelines for raters, as for `create`.

    Returns:
        Whether the campaign was created.

    Raises:
        InputError: The folder has other content.
        OSError: The folder cannot be written.
    """
    settings = settings.model_copy(update={"made_from": material.made_from})
    if not (folder / SETTINGS).is_file():
        create(folder, settings, task, material.units, material.texts, guidelines)
        return True
    with TemporaryDirectory() as temporary:
        fresh = create(Path(temporary) / folder.name, settings, task, material.units, material.texts, guidelines).folder
        for file in sorted({*fresh.iterdir()} - {fresh / RATERS}):
            kept = folder / file.name
            if not kept.is_file() or kept.read_bytes() != file.read_bytes():
                raise InputError(f"{folder} has a campaign with another {file.name}: choose another folder")
    return False
