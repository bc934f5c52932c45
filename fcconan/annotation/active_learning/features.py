"""What the model of a queue is given: rows and columns of units, likeness of their texts, scores."""

from collections.abc import Sequence

import numpy as np

from fcconan.annotation.active_learning.model import Floats, Problem, likeness, standardised
from fcconan.annotation.active_learning.scores import Score
from fcconan.annotation.campaigns import Campaign, Row, Unit
from fcconan.annotation.sampling.neighbours import TFIDF

WORDS = 5_000  # of TF-IDF


def problem_of(campaign: Campaign, scores: Sequence[Score], encoder: str) -> Problem:
    """Returns the units of a campaign as the model sees them.

    The row of a unit is its HS, or its item where no HS is known. The column of a pair is its CN, that of a reply its
    system, that of a comparison its two systems. HS and CNs are alike by their texts, systems are not.

    Args:
        campaign: The campaign; its units of the role `item` are taken, in their order.
        scores: Of scorers.
        encoder: `tfidf`, `minilm`, the folder of a sentence-transformers model, or its name on the Hub.

    Raises:
        InputError: There is no such model.
    """
    units = [unit for unit in campaign.units().values() if unit.role == "item"]
    texts = campaign.texts()
    spoken = _texts(texts)
    places = [_place(unit, texts) for unit in units]
    rows, columns = (list(dict.fromkeys(place[side] for place in places)) for side in (0, 1))
    number = [{name: at for at, name in enumerate(names)} for names in (rows, columns)]
    values = [np.array([score.values.get(unit.unit_id, np.nan) for unit in units]) for score in scores]
    return Problem(
        rows=np.array([number[0][row] for row, _ in places], dtype=np.int64),
        columns=np.array([number[1][column] for _, column in places], dtype=np.int64),
        row_likeness=_likeness([spoken.get(row, "") for row in rows], encoder),
        column_likeness=(
            _likeness([spoken.get(column, "") for column in columns], encoder)
            if campaign.task.unit == "pair"
            else np.eye(len(columns))
        ),
        scores=standardised(values, len(units)),
    )


def _place(unit: Unit, texts: dict[str, Row]) -> tuple[str, str]:
    replies = [texts.get(reply or "", {}) for reply in (unit.reply_a, unit.reply_b)]
    row = unit.hs_id or replies[0].get("hs_id") or unit.item_id or replies[0].get("item_id") or unit.unit_id
    if unit.cn_id:
        return str(row), unit.cn_id
    return str(row), "\n".join(str(reply.get("system") or "") for reply in replies)


def _texts(texts: dict[str, Row]) -> dict[str, str]:
    """What HS, items and CNs say; the HS of replies stand in the replies' rows."""
    found = {}
    for name, row in texts.items():
        for key in ("hs_id", "item_id"):
            if row.get(key) and row.get("hate_speech"):
                found[str(row[key])] = str(row["hate_speech"])
        found[name] = str(row.get("text") or "")
    return found


def _likeness(texts: Sequence[str], encoder: str) -> Floats:
    """Likeness of texts; those without any are like themselves only."""
    found = np.eye(len(texts))
    there = [place for place, text in enumerate(texts) if text.strip()]
    if len(there) < 2:
        return found
    spoken = [texts[place] for place in there]
    if encoder == TFIDF:
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectors = TfidfVectorizer(sublinear_tf=True, max_features=WORDS).fit_transform(spoken).toarray()
        except ValueError:  # no word in any of them
            return found
    else:
        from fcconan.retrieval import DOCUMENT, SentenceEncoder

        vectors = SentenceEncoder(encoder).encode(spoken, role=DOCUMENT)
    found[np.ix_(there, there)] = likeness(vectors)
    return found
