"""What rows tell about rated replies: item, system, HS message and text, each of which may be told once or alike."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fcconan.data import id_of, required_id
from fcconan.errors import InputError
from fcconan.scoring.score_table import Floats

Row = Mapping[str, Any]
ABOUT = ("item_id", "system", "hs_id", "text")


def by_id(replies: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Returns what rows tell about each reply; a reply may be named again, as in several splits.

    Raises:
        InputError: A row has no `reply_id`, or rows contradict each other.
    """
    known: dict[str, dict[str, str]] = {}
    for number, row in enumerate(replies, start=1):
        place = str(getattr(row, "place", f"reply {number}"))
        reply = required_id(row, "reply_id", place)
        learn(known.setdefault(reply, {}), row, reply, place)
    return known


def learn(own: dict[str, str], row: Row, reply: str, place: str) -> None:
    """Adds what a row tells about its reply, leaving out what is empty; an empty text is a text.

    Args:
        own: What is known of the reply; it is added to.
        row: The row.
        reply: The id of the reply, for complaints.
        place: The place of the row, which a column's value is named with if it is wrong.

    Raises:
        InputError: It contradicts what is known.
    """
    for column in ABOUT:
        if column not in row:
            continue
        value = row[column] if column == "text" else id_of(row, column, place)
        if isinstance(value, str) and own.setdefault(column, value) != value:
            raise InputError(
                f"the reply {reply} has the {column} {_short(own[column])}, and in another row {_short(value)}: "
                "give every reply an id of its own"
            )


def joined(reply: str, known: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Returns what the replies and the ratings together tell about a reply.

    Raises:
        InputError: They contradict each other.
    """
    for column in known.keys() & own.keys():
        if known[column] != own[column]:
            raise InputError(
                f"the reply {reply} has the {column} {_short(known[column])} in the replies and {_short(own[column])} "
                "in the ratings: give the replies that were rated, or mend one of the two"
            )
    return own | known


def lengths(about: Sequence[Mapping[str, str]]) -> Floats | None:
    """Returns the words of each reply's text, nan where there is none; None where no reply has one."""
    texts = [row.get("text") for row in about]
    if all(text is None for text in texts):
        return None
    return np.array([np.nan if text is None else float(len(text.split())) for text in texts])


def _short(value: str) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
