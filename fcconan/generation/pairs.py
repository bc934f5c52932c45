"""Messages to reply to, and the pairs that a system may use for them: examples and CNs, without leakage."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from fcconan.building import group_values
from fcconan.data import (
    LABELS,
    TIERS,
    LeakageIndex,
    RowSource,
    cell_list,
    first_column,
    is_blank,
    is_missing,
    make_cn_id,
    make_hs_id,
    make_item_id,
    make_pair_id,
    message_codes,
    message_leakage_keys,
    normalise,
    read,
    train_split,
)
from fcconan.errors import InputError
from fcconan.groups import Rows
from fcconan.retrieval import Retriever, TrainingPair, rank_all

if TYPE_CHECKING:
    from pandas import DataFrame

MESSAGES = ("replies", *reversed(TIERS), "pairs", "queries")  # the broadest tier has the others
PAIRS = ("train", "pairs")
NO_CANDIDATES = "no_candidates"
DECIMALS = 6  # of similarities of messages: later ones vary with the batch of a model
_TOGETHER = 64  # messages whose examples are searched together
_OPTIONAL = ("item_id", "hs_id", "pair_id", "label", "tier", "text_language", "language", "background", "references")


def read_messages(source: RowSource, rows: Rows = Rows(), limit: int | None = None) -> tuple["DataFrame", str]:
    """Reads messages in the order of the data.

    Rows with equal `item_id` are one message. Without this column, pairs are one message for each `hs_id` or text, with
    its appropriate CNs as references, and other rows are one for each message with its references.

    Args:
        source: A dataset with the config replies, a tier, pairs or queries (the first of these is read), or rows with
            `hate_speech`.
        rows: Which rows are read.
        limit: Largest number of messages.

    Returns:
        One row for each message, with `item_id`, `hs_id`, `hate_speech`, `references` (list), `language`, `background`
        and `keys` (leakage keys); and the name of the data with a hash.

    Raises:
        InputError: The source cannot be read, has no texts, or has two texts under one id.
    """
    found, name = _read(MESSAGES, source, rows)
    if (blank := found["hate_speech"].map(is_blank)).any():
        row = blank.argmax() + found.attrs["first"]
        raise InputError(f"{name} has no message in {blank.sum()} rows, row {row} first: remove them")
    is_pairs = "counter_narrative" in found and not found["references"].map(bool).any()
    if is_pairs:
        answers = found["counter_narrative"].where(_is_appropriate(found), "")
        found["references"] = [[] if is_blank(text) else [text] for text in answers]
    found["hs_id"] = found["hs_id"].fillna(found["hate_speech"].map(make_hs_id))
    own = found["hs_id"] if is_pairs else _item_ids(found)
    groups = found.groupby(found["item_id"].fillna(own).rename("key"), sort=False)
    if (texts := found["hate_speech"].map(normalise).groupby(groups.ngroup()).nunique()).max() > 1:
        row = found.loc[groups.ngroup() == texts.idxmax()].iloc[0]
        raise InputError(f"{name} has several messages under the id {row['item_id'] or row['hs_id']}: correct the ids")
    messages = groups.head(1).reset_index(drop=True)
    for column in ("references", "codes"):
        messages[column] = [[*dict.fromkeys(chain(*each))] for _, each in groups[column]]
    messages["item_id"] = messages["item_id"].fillna(_item_ids(messages))
    messages = messages[:limit]
    return messages.assign(keys=_keys(messages, messages["references"])), name


def read_pairs(source: RowSource, rows: Rows = Rows()) -> tuple["DataFrame", str]:
    """Reads pairs that are not labelled not_appropriate, each once, in the order of the data.

    Args:
        source: A dataset with the split train, or rows with `hate_speech` and `counter_narrative`.
        rows: Which rows are read.

    Returns:
        One row for each pair, with `pair_id`, `cn_id`, `hate_speech`, `counter_narrative`, `language` and `keys`
        (leakage keys); and the name of the data with a hash.

    Raises:
        InputError: The source cannot be read, a text is empty, or no pair is left.
    """
    found, name = _read(PAIRS, source, rows)
    if "counter_narrative" not in found:
        raise InputError(f"{name} has no column counter_narrative, only {', '.join(found)}: give pairs")
    if (blank := found[["hate_speech", "counter_narrative"]].map(is_blank).any(axis=1)).any():
        row = blank.argmax() + found.attrs["first"]
        raise InputError(f"{name} has {blank.sum()} pairs without a message or a CN, row {row} first: remove them")
    found = found[_is_appropriate(found)]
    if found.empty:
        raise InputError(f"{name} has no appropriate pairs: give another dataset")
    found["cn_id"] = found["counter_narrative"].map(make_cn_id)
    made = [*map(make_pair_id, found["hate_speech"].map(make_hs_id), found["cn_id"])]
    found["pair_id"] = found["pair_id"].where(found["pair_id"].notna(), made)
    found["keys"] = _keys(found, [[text] for text in found["counter_narrative"]])
    groups = found.groupby("pair_id", sort=False)
    pairs = groups.head(1).reset_index(drop=True)
    return pairs.assign(keys=[frozenset().union(*each) for _, each in groups["keys"]]), name


def pool_of(dataset: RowSource, source: RowSource | None, rows: Rows) -> tuple["DataFrame", str]:
    """Returns the pairs of a source, or of the training part of the dataset; see `read_pairs`.

    Raises:
        InputError: There are no pairs.
    """
    own = dataset if source is None else source
    given = rows if source is None else Rows()
    try:
        return read_pairs(own, Rows(train_split(own) or given.split, given.rename))
    except InputError as error:
        raise InputError(f"no pairs for examples or retrieval: {error}; or name others with --background") from error


def _read(kinds: Sequence[str], source: RowSource, rows: Rows) -> tuple["DataFrame", str]:
    """Returns rows with texts, lists of references, and the upstream codes of their messages."""
    found, _, name = read(kinds, source, rows=rows, ids=False)
    found = found.astype(object).where(found.notna(), None)
    for column in ("hate_speech", "counter_narrative", "references"):
        if (theirs := first_column(dict.fromkeys(found), column)) is not None:
            found[column] = found[theirs]
    if "hate_speech" not in found and {"_id", "text"} <= {*found}:  # queries
        found = found.assign(hs_id=found["_id"], hate_speech=found["text"])
    if "hate_speech" not in found:
        raise InputError(
            f"{name} has no column hate_speech, only {', '.join(found)}: name it with --rename.hate_speech COLUMN, or "
            "add the texts with `fcconan hydrate`"
        )
    found = found.reindex(columns=[*dict.fromkeys([*found, *_OPTIONAL])]).astype(object)
    found = found.where(found.notna(), None)
    for column in {"hate_speech", "counter_narrative"} & {*found}:
        found[column] = ["" if cell is None else str(cell) for cell in found[column]]
    lists = [cell_list(cell.tolist() if hasattr(cell, "tolist") else cell) for cell in found["references"]]
    texts = [[str(each) for each in own if not is_missing(each)] for own in lists]
    found["references"] = [[text for text in own if not is_blank(text)] for own in texts]
    # Annotators labelled these CNs for the messages; otherwise people wrote them for the messages.
    found["judged"] = bool((found["label"].eq(LABELS[0]) | found["tier"].map(bool)).any())
    dataset = "" if name.startswith("rows@") else name.partition("@")[0]
    codes = (message_codes(row, dataset=dataset, judged=row["judged"]) for row in found.to_dict("records"))
    found["codes"] = [*codes]
    found["language"] = found["text_language"].fillna(found["language"])
    return found, name


def _is_appropriate(rows: "DataFrame") -> Any:
    return rows["label"].isna() | rows["label"].isin(["", LABELS[1]])


def _item_ids(rows: "DataFrame") -> Any:
    both = zip(rows["hs_id"], rows["references"], strict=True)
    return rows.assign(made=[make_item_id(key, map(make_cn_id, own)) for key, own in both])["made"]


def _keys(rows: "DataFrame", replies: Sequence[Sequence[str]]) -> list[frozenset[str]]:
    columns = zip(rows["hate_speech"], replies, rows["codes"], rows["judged"], strict=True)
    return [message_leakage_keys(text, own, codes=codes, judged=judged) for text, own, codes, judged in columns]


def leaking_pairs(messages: "DataFrame", pairs: "DataFrame") -> tuple[list[frozenset[int]], tuple[int, ...]]:
    """Returns the pairs that must not be used for messages.

    Args:
        messages: Messages of `read_messages`.
        pairs: Pairs of `read_pairs`.

    Returns:
        For each message the positions of all pairs in its leakage group and of all pairs with their CNs or with its
        references; and the leakage group of each pair.
    """
    index = LeakageIndex([*pairs["keys"]], [*pairs["hate_speech"]])
    asked = zip(messages["keys"], messages["hate_speech"], strict=True)
    return [index.of(keys, text) for keys, text in asked], index.groups


def find_examples(messages: "DataFrame", pairs: "DataFrame", k: int, system: Retriever) -> list[list[int]]:
    """Finds the pairs with the most similar messages, outside of the leakage group of each message.

    At most one pair of each leakage group is used: the first of the pool. No CN is used twice. Ties follow the order of
    the pool.

    Args:
        messages: Messages of `read_messages`.
        pairs: Pairs of `read_pairs`.
        k: Number of examples.
        system: System that ranks the messages of the pairs.

    Returns:
        The positions of the pairs of each message, the most similar one first.

    Raises:
        InputError: The system cannot be used.
    """
    of_text = group_values((text, position) for position, text in enumerate(pairs["hate_speech"]))
    places = dict(zip(map(str, range(len(of_text))), of_text.values(), strict=True))
    texts = dict(zip(places, of_text, strict=True))
    left_out, groups = leaking_pairs(messages, pairs)
    cn_ids, found = pairs["cn_id"].tolist(), []
    for start in range(0, len(messages), _TOGETHER):
        asked = dict(enumerate(messages["hate_speech"].iloc[start : start + _TOGETHER], start))
        ranked = rank_all(system, {str(number): text for number, text in asked.items()}, texts, len(texts))
        for number in asked:
            order = sorted(ranked.get(str(number), ()), key=lambda each: (-round(each[1], DECIMALS), int(each[0])))
            chosen: list[int] = []
            for key, _ in order:
                if len(chosen) == k:
                    break
                used, seen = {groups[each] for each in chosen}, {cn_ids[each] for each in chosen}
                if groups[places[key][0]] not in used:
                    free = (each for each in places[key] if each not in left_out[number] and cn_ids[each] not in seen)
                    chosen += [each for each in [next(free, None)] if each is not None]
            found.append(chosen)
    return found


def retrieve(
    messages: "DataFrame", pairs: "DataFrame", make: Callable[[list[TrainingPair]], Retriever]
) -> tuple[list[dict[str, Any]], str]:
    """Returns the CN of the pool that a system ranks first for each message, outside of its leakage group.

    Args:
        messages: Messages of `read_messages`.
        pairs: Pairs of `read_pairs`.
        make: Function that makes the system from training pairs: those outside of the leakage groups of all messages.

    Returns:
        `text`, `reason` and `sources` (id of the CN) for each message; and the name of the system.

    Raises:
        InputError: The system cannot be used.
    """
    positions, _ = leaking_pairs(messages, pairs)
    left_out = [{*pairs["cn_id"].iloc[[*each]]} for each in positions]
    free = pairs.drop(index=[*frozenset[int]().union(*positions)])
    system = make([*map(TrainingPair, free["hate_speech"], free["counter_narrative"])])
    unique = pairs.drop_duplicates("cn_id")
    texts = dict(zip(unique["cn_id"], unique["counter_narrative"], strict=True))
    depth = min(len(texts), 1 + max(map(len, left_out), default=0))
    ranked = rank_all(system, dict(zip(messages["item_id"], messages["hate_speech"], strict=True)), texts, depth)
    found = []
    for item, excluded in zip(messages["item_id"], left_out, strict=True):
        best = sorted(ranked.get(item, ()), key=lambda each: -each[1])  # stable: ties are in the order of the system
        first = next((key for key, _ in best if key not in excluded), None)
        reason = None if first else ranked.failures.get(item, NO_CANDIDATES)
        found.append(
            {"text": first and texts[first].strip(), "reason": reason, "sources": [] if first is None else [first]}
        )
    return found, system.name
