"""What a generator is given for one message, and what it makes of it."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from fcconan.data import GENERATED as GENERATED_SCHEMA, Columns

Row = dict[str, Any]

GENERATED: Columns = GENERATED_SCHEMA.kinds


@dataclass(frozen=True)
class Item:
    """One message to answer, with its references.

    Attributes:
        item_id: Of the message and its references.
        hs_id: Of the message.
        hate_speech: The message.
        references: CNs that people wrote for it.
        language: Code of its language, where the dataset names one.
        kin: Everything that tells which messages are this one in other words: its id, its upstream codes, the ids of
            its CNs. A training pair that shares any of these may not be shown for it.
    """

    item_id: str
    hs_id: str
    hate_speech: str
    references: tuple[str, ...] = ()
    language: str | None = None
    kin: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Example:
    """A pair of the training part that a prompt shows, or the CN of one that is offered as an answer.

    Attributes:
        pair_id: Of the pair.
        cn_id: Of the CN.
        hate_speech: The message that it was written for; empty for a CN of a catalogue.
        counter_narrative: The CN.
        score: How near it is to the message that is answered, by whatever found it.
    """

    pair_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    score: float = 0.0


@dataclass(frozen=True)
class Shown:
    """What a prompt shows besides the message.

    Attributes:
        examples: Pairs, in the order in which they are shown.
        candidates: Pairs whose CNs are offered, the best one first.
        background: Passages about the message.
    """

    examples: tuple[Example, ...] = ()
    candidates: tuple[Example, ...] = ()
    background: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generated:
    """What came of one item.

    Attributes:
        text: The reply; None where there is none.
        reason: Why there is none.
        more: Further columns of `GENERATED`.
    """

    text: str | None
    reason: str | None = None
    more: Row = field(default_factory=dict)


class Source(Protocol):
    """Finds training pairs for an item; never one that shares any of its kin."""

    configuration: dict[str, Any]

    def of(self, item: Item) -> tuple[Example, ...]:
        """Returns the pairs, the best one first."""
        ...
