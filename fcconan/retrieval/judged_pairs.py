"""A retrieval dataset from judged pairs in memory, such as a data frame or a `datasets.Dataset`."""

from typing import Any

from fcconan.data import LABELS, is_blank, make_cn_id, make_hs_id, open_table, optional_id
from fcconan.errors import InputError
from fcconan.retrieval.collections import Collection, Qrels

_COLUMNS = ("hate_speech", "counter_narrative", "label")


def pairs_collection(pairs: Any) -> Collection:
    """Creates a retrieval dataset without training pairs: the HS are queries, and all CNs are the catalogue.

    Args:
        pairs: A data frame, dataset or list of rows with `hate_speech`, `counter_narrative` and `label`
            (`appropriate` or `not_appropriate`). Ids come from the columns `hs_id` and `cn_id`, or from the texts.

    Raises:
        InputError: The source is invalid or empty, a column is missing, a row lacks a text or a label, an id has two
            texts, or a pair has two labels.

    Examples:
        >>> found = pairs_collection(
        ...     [{"hate_speech": "They never pay.", "counter_narrative": "They do.", "label": "appropriate"}]
        ... )
        >>> list(found.corpus.values()), [list(judged.values()) for judged in found.qrels("test").values()]
        (['They do.'], [[1]])
    """
    table = open_table("pairs", [pairs])
    source, _, fingerprint = table.population.partition("@")
    queries: dict[str, str] = {}
    corpus: dict[str, str] = {}
    qrels: Qrels = {}
    for number, row in enumerate(table, start=1):
        location = f"{source}, row {number}"
        if missing := [name for name in _COLUMNS if is_blank(str(row.get(name) or ""))]:
            raise InputError(f"{location}: {' and '.join(missing)} missing: give pairs with {', '.join(_COLUMNS)}")
        message, reply, label = (row[name] for name in _COLUMNS)
        if label not in LABELS:
            raise InputError(f"{location}: the label is {label!r}, expected {' or '.join(reversed(LABELS))}")
        query = optional_id(row, "hs_id", location) or make_hs_id(message)
        document = optional_id(row, "cn_id", location) or make_cn_id(reply)
        for key, text, texts in ((query, message, queries), (document, reply, corpus)):
            if texts.setdefault(key, text) != text:
                raise InputError(f"{location}: {key} has another text in an earlier row: give each text a unique id")
        value = LABELS.index(label)
        if qrels.setdefault(query, {}).setdefault(document, value) != value:
            raise InputError(f"{location}: the pair has another label in an earlier row: keep one of them")
    return Collection(
        name=source,
        title=source,
        fingerprint=fingerprint,
        queries=queries,
        corpus=corpus,
        train=(),
        partitions={"test": lambda: qrels},
    )
