"""Invented ratings of invented replies, with a known dependence on the replies."""

from functools import partial
from typing import Any

import numpy as np

Row = dict[str, Any]
PEOPLES = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
SCALES = {"relevance": (1, 5, True), "aggressiveness": (1, 5, False)}


def simulated(messages: int = 60, replies: int = 5, *, seed: int = 0) -> tuple[list[Row], list[Row]]:
    """Returns replies and ratings. Relevance grows with the words of a reply, aggressiveness with its marks.

    People are `anna` and `ben`; `good` is a model that follows them, `blind` one that does not; `length` is a metric of
    whole replies for which more is better, and `rude` one for which less is; `half` rated every second reply.
    """
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    ratings: list[Row] = []
    for message in range(messages):
        words = " ".join("".join(random.choice(list("abcdefgh"), 6)) for _ in range(8))
        for reply in range(replies):
            n_words, marks = int(random.integers(3, 40)), int(random.integers(0, 5))
            said = " ".join("".join(random.choice(list("klmnoprst"), 5)) for _ in range(n_words))
            name = f"r{message}-{reply}"
            rows.append(
                {
                    "reply_id": name,
                    "item_id": f"i{message}",
                    "hs_id": f"h{message}",
                    "hate_speech": f"{PEOPLES[message % 6]} {words}",
                    "text": said + "!" * marks,
                    "system": f"system-{reply % 3}",
                    "also_in": [f"round{1 + message % 2}"],
                }
            )
            truth = {"relevance": 1 + n_words / 10, "aggressiveness": 1 + marks}

            rate = partial(_add, ratings, name)
            for aspect, scale in SCALES.items():
                for person in ("anna", "ben"):
                    rate(person, "human", aspect, round(truth[aspect] + random.normal(0, 0.7)), scale)
                rate("good", "model", aspect, truth[aspect] + random.normal(0, 1), scale)
                rate("blind", "model", aspect, 3 + random.normal(0, 1), scale)
                if reply % 2 == 0:
                    rate("half", "model", aspect, truth[aspect] + random.normal(0, 1), scale)
            rate("length", "metric", "score", n_words, None)
            rate("rude", "metric", "score", marks, (0, 100, False))
    return rows, ratings


def _add(
    ratings: list[Row], reply: str, rater: str, kind: str, aspect: str, value: float, scale: tuple[Any, ...] | None
) -> None:
    low, high, praise = scale or (None, None, True)
    value = float(value if scale is None else min(high, max(low, value)))
    row = {"reply_id": reply, "rater": rater, "rater_kind": kind, "aspect": aspect, "value": value, "reason": None}
    ratings.append(row | {"low": low, "high": high, "higher_is_better": praise})
