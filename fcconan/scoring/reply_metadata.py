"""Metadata of replies, merged from all their rows: item, system and HS message."""

from collections.abc import Iterable

from fcconan.data import RATER_KINDS, item_of_message, optional_id, required_id
from fcconan.errors import InputError
from fcconan.scoring.arrays import Row

COLUMNS = ("item_id", "system", "hs_id")


def row_place(row: Row, kind: str, number: int) -> str:
    """Returns the location of a row for messages: file and row, or its number among rows of a kind."""
    return str(getattr(row, "place", f"{kind} {number}"))


def record_kind(kinds: dict[str, str], rater: str, kind: str | None, place: str) -> None:
    """Records the kind of a rater, if a row states it.

    Args:
        kinds: Rater -> kind.
        rater: The rater of the row.
        kind: The kind; None where the row states none.
        place: Location of the row, for messages.

    Raises:
        InputError: The kind is unknown, or differs from an earlier row.
    """
    if kind not in (None, *RATER_KINDS):
        raise InputError(f"{place}: rater_kind is {kind!r}, expected {', '.join(RATER_KINDS)}; correct the row")
    if kind is not None and kinds.setdefault(rater, kind) != kind:
        raise InputError(
            f"{place}: {rater} is a rater of the kind {kind}, but before of the kind {kinds[rater]}; write one "
            "rater_kind for each rater"
        )


class ReplyMetadata:
    """The metadata of replies, in the order in which rows name them.

    Args:
        rows: Rows with `reply_id` and any of `COLUMNS`. A reply may have several rows if they do not contradict each
            other.

    Attributes:
        facts: Reply id -> column -> value. Empty cells are left out.
        derived_items: Reply id -> item of the message and references, where a row has these and no item.

    Raises:
        InputError: As `add`.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.facts: dict[str, dict[str, str]] = {}
        self.derived_items: dict[str, str] = {}
        for number, row in enumerate(rows, start=1):
            self.add(row, row_place(row, "reply", number))

    def add(self, row: Row, place: str) -> str:
        """Adds the metadata of a row, and returns the id of its reply.

        Raises:
            InputError: The row has no `reply_id`, or contradicts an earlier one.
        """
        reply = required_id(row, "reply_id", place)
        own = self.facts.setdefault(reply, {})
        for column in COLUMNS:
            if (value := optional_id(row, column, place)) is not None:
                _merge(own, reply, column, value)
        if "item_id" not in own and (item := item_of_message(row, place)):
            self.derived_items[reply] = item
        return reply

    def complete(self, known: "ReplyMetadata", *, partial: bool) -> None:
        """Adds metadata from another source.

        Args:
            known: Metadata of all replies.
            partial: Whether `known` may lack replies whose item and system are known.

        Raises:
            InputError: `known` lacks a reply, or contradicts its metadata.
        """
        unknown = [reply for reply in self.facts if reply not in known.facts]
        lost = [reply for reply in unknown if not (partial and {"item_id", "system"} <= self.facts[reply].keys())]
        if lost:
            raise InputError(
                f"the replies lack {len(lost)} of {len(self.facts)} rated ones (such as {lost[0]}): give the replies "
                "that were rated"
            )
        for reply, own in self.facts.items():
            for column, value in known.facts.get(reply, {}).items():
                _merge(own, reply, column, value)
        derived = {reply: item for reply, item in known.derived_items.items() if reply in self.facts}
        # Items of another origin do not go together with derived ones.
        if all(self.facts[reply].get("item_id", item) == item for reply, item in derived.items()):
            for reply, item in derived.items():
                self.facts[reply]["item_id"] = item

    def know(self, column: str) -> bool:
        """Returns whether a column is known for every reply."""
        return all(column in own for own in self.facts.values())


def _merge(own: dict[str, str], reply: str, column: str, value: str) -> None:
    before = own.setdefault(column, value)
    if before != value:
        raise InputError(
            f"the reply {reply} has the {column} {before!r}, and in another row {value!r}: give "
            "every reply an id of its own, and the replies that were rated"
        )
