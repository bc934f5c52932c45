"""Units of a campaign from given texts: two lists of texts, or replies of systems; and the folder of a new campaign."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from fcconan.annotation.campaigns import SETTINGS, Row, Settings, Unit, create
from fcconan.annotation.sampling.combinations import DRAW_CN, DRAW_HS, Material, draw, even_number, prove_new
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
from fcconan.judging import ReplyPair, Task, all_pairs, budgeted_pairs

Side = Literal["hs", "cn"]
_COLUMNS: dict[Side, tuple[str, ...]] = {
    "hs": ("hate_speech", "text", "hs_type", "hs_subtype", "source_id"),
    "cn": ("counter_narrative", "text", "cn_type", "age", "gender", "education", "source_id"),
}
_ID = {"hs": make_hs_id, "cn": make_cn_id}


def read_list(file: Path, columns: Mapping[str, str] | None = None) -> Iterator[PlacedRow]:
    """Yields the rows of a file of rows, or the lines of a text file as rows with `text`.

    Args:
        file: A file that ends in .txt, or a file of rows.
        columns: Name of a column here -> its name in the file; columns that the file lacks are ignored.

    Raises:
        InputError: The file cannot be read, or is of another kind.
    """
    if file.suffix == ".txt":
        yield from _lines(file)
        return
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file} is no list: expected a file whose name ends in .txt, {', '.join(SUFFIXES)}")
    yield from open_table("rows", [file], rename=columns, complete=False)


def _lines(file: Path) -> Iterator[PlacedRow]:
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        if line.strip():
            yield PlacedRow({"text": line.strip()}, f"{file.name}, line {number}")


def list_texts(rows: Iterable[Row], side: Side) -> list[Row]:
    """Returns the texts of a list with their ids, in its order.

    Args:
        rows: With a column `text`, or `hate_speech` (`counter_narrative`).
        side: Whether they are HS or CNs.

    Returns:
        Rows with `hs_id` (`cn_id`), `text` and what else the list says about them.

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
) -> Material:
    """Makes the units of a campaign on the pairs of two lists.

    Args:
        hs: Of `list_texts`.
        cns: Of `list_texts`.
        corpus: Pairs that are left out.
        n_hs: How many HS are drawn; None for all, in their order.
        n_cns: How many CNs are drawn; None for all, in their order, or for as many as divide evenly.
        divisible_by: What the number of pairs must be a multiple of.
        seed: Of the draws.

    Raises:
        InputError: A list is shorter than asked for, or the number of pairs is no multiple.
    """
    different = {"hs": _different(hs), "cn": _different(cns)}
    if n_hs is not None and n_hs > len(different["hs"]):
        found = len(different["hs"])
        raise InputError(f"{n_hs} HS are asked for, but the list has {found} different ones: ask for fewer")
    chosen_hs = _drawn(different["hs"], "hs_id", n_hs, seed, DRAW_HS)
    as_given = n_cns is None and divisible_by == 1
    order = _drawn(different["cn"], "cn_id", None if as_given else len(different["cn"]), seed, DRAW_CN)
    known = _known(chosen_hs, order, corpus)
    pairs, total = [], 0
    for cn in order:
        total += sum((one["hs_id"], cn["cn_id"]) not in known for one in chosen_hs)
        pairs.append(total)
    how = f"the list has {len(order)} different ones"
    if known:
        how += f", and {len(known)} of their pairs occur in the corpus"
    chosen = order[: even_number(n_cns, pairs, divisible_by=divisible_by, how=how)]
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
        counts |= prove_new(units, texts, corpus)
    made_from = {"kind": "lists", "hs": n_hs, "cns": n_cns, "divisible_by": divisible_by, "counts": counts}
    return Material(units, texts, made_from)


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


def reply_units(replies: Iterable[Row], context: Sequence[str] = ()) -> Material:
    """Makes a unit of every reply that has words.

    Args:
        replies: Complete rows, as `fcconan.data.tables.open_table` gives them.
        context: What the task shows beside the texts.

    Raises:
        InputError: No reply has words, or none has what the task shows.
    """
    rows, counts = _read(replies, context)
    units = [unit_of(row) for row in rows]
    return Material(units, {"replies.jsonl": rows}, {"kind": "replies", "counts": counts})


def comparison_units(
    replies: Iterable[Row], context: Sequence[str] = (), *, n_pairs: int | None = None, seed: int = 0
) -> Material:
    """Makes units of the pairs of systems' replies to the same item.

    Pairs with the same text twice are left out, as `fcconan judge compare` asks nobody about them.

    Args:
        replies: Complete rows, as `fcconan.data.tables.open_table` gives them.
        context: What the task shows beside the texts.
        n_pairs: Number of pairs that connect all systems (`fcconan.judging.budgeted_pairs`); None for all pairs.
        seed: Of the choice.

    Raises:
        InputError: Nothing can be compared, there are fewer pairs than asked for, or so few cannot connect all systems.
    """
    rows, counts = _read(replies, context)
    possible = identical = 0
    for pair in all_pairs(rows):
        possible += 1
        identical += _identical(pair)
    found = possible - identical
    if n_pairs is not None and n_pairs > found:
        raise InputError(
            f"{n_pairs} comparisons are asked for, but there are {found} ({identical} of {possible} pairs have "
            f"the same text twice): ask for {found} or fewer"
        )
    wanted: Iterator[ReplyPair] = all_pairs(rows)
    if n_pairs is not None:
        budgeted_pairs(rows, budget=n_pairs, seed=seed)  # refuses a number that cannot connect the systems
        wanted = budgeted_pairs(rows, budget=possible, seed=seed)
    chosen = list(islice((pair for pair in wanted if not _identical(pair)), n_pairs))
    if n_pairs is not None:
        _check_connected(chosen, rows)
    units = [unit_of(pair.a, pair.b) for pair in chosen]
    used = {key for pair in chosen for key in (pair.a["reply_id"], pair.b["reply_id"])}
    counts |= {"possible": possible, "identical": identical, "comparisons": len(units)}
    texts = {"replies.jsonl": [row for row in rows if row["reply_id"] in used]}
    return Material(units, texts, {"kind": "comparisons", "asked_for": n_pairs, "counts": counts})


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
        raise InputError(f"none of {empty} replies has a word: check the column of their text")
    wordless = next((row for row in rows if is_blank(row.get("hate_speech", ""))), None)
    if wordless is not None:
        raise InputError(f"the reply {wordless['reply_id']} has no hate speech: fill it in, or remove the reply")
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
                raise InputError(f"the task shows {name}, which no reply has: name the column, or take another task")
    return rows, counts


def _identical(pair: ReplyPair) -> bool:
    return normalise(str(pair.a["text"])) == normalise(str(pair.b["text"]))


def _check_connected(pairs: Sequence[ReplyPair], rows: Sequence[Mapping[str, Any]]) -> None:
    """Checks what pairs that were left out as identical may have undone."""
    group = {str(row["system"]): {str(row["system"])} for row in rows}
    for pair in pairs:
        together = group[str(pair.a["system"])] | group[str(pair.b["system"])]
        group |= dict.fromkeys(together, together)
    first = next(iter(group))
    apart = next((system for system in group if first not in group[system]), None)
    if apart is not None:
        raise InputError(f"{len(pairs)} comparisons do not connect {first} and {apart}: ask for more")


def make_once(folder: Path, settings: Settings, task: Task, material: Material, guidelines: str | None = None) -> bool:
    """Makes a campaign, unless it is there already as it would be made.

    What later steps wrote into the folder makes no difference.

    Args:
        folder: Of the campaign.
        settings: For `campaign.yaml`, without `made_from`.
        task: What is asked.
        material: What the campaign is made of.
        guidelines: As for `create`.

    Returns:
        Whether it was made.

    Raises:
        InputError: Something else is there.
        OSError: The folder cannot be written.
    """
    settings = settings.model_copy(update={"made_from": material.made_from})
    if not (folder / SETTINGS).is_file():
        create(folder, settings, task, material.units, material.texts, guidelines)
        return True
    with TemporaryDirectory() as temporary:
        fresh = create(Path(temporary) / folder.name, settings, task, material.units, material.texts, guidelines).folder
        for file in sorted(fresh.iterdir()):
            kept = folder / file.name
            if not kept.is_file() or kept.read_bytes() != file.read_bytes():
                raise InputError(f"{folder} holds a campaign with another {file.name}: choose another folder")
    return False
