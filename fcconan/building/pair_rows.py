"""What every builder of pairs shares: ids, repeated pairs, and the corpus, queries and qrels of a benchmark."""

from typing import Any

from fcconan.building.tables import Table
from fcconan.building.upstream_csv import Rows
from fcconan.data import QRELS, TEXT_BY_ID, make_cn_id, make_hs_id, make_pair_id

EDUCATION = {
    "": None,
    "Less than high school": "below_high_school",
    "High school": "high_school",
    "Some university without degree": "some_university",
    "Bachelor": "bachelor",
    "Master": "master",
    "PhD": "phd",
}


PERSON_AND_TOPIC = ("hs_type", "hs_subtype", "cn_type", "gender", "age", "education")


def ids_of(hate_speech: str, counter_narrative: str) -> dict[str, str]:
    """Returns the three ids of a pair and its two texts, as columns."""
    hs, cn = make_hs_id(hate_speech), make_cn_id(counter_narrative)
    return {
        "pair_id": make_pair_id(hs, cn),
        "hs_id": hs,
        "cn_id": cn,
        "hate_speech": hate_speech,
        "counter_narrative": counter_narrative,
    }


def person_and_topic(rows: Rows, row: int) -> dict[str, Any]:
    """Returns CONAN's columns about topic and author as the contract names them, for the columns that the file has."""
    found: dict[str, Any] = {}
    for name in ("hs_type", "hs_subtype", "cn_type", "gender"):
        if name in rows.columns:
            found[name] = "; ".join(part.strip() for part in rows[name][row].split(",") if part.strip()) or None
    if "age" in rows.columns:
        found["age"] = rows.integer("age", row)
    if "education" in rows.columns:
        found["education"] = rows.one_of("education", row, EDUCATION)
    return found


def check_labels(rows: Rows, pair_ids: list[str], labels: list[str]) -> None:
    """Checks that no pair stands in a file twice.

    Raises:
        InputError: One does; the message says whether the labels differ.
    """
    first: dict[str, int] = {}
    for row, pair in enumerate(pair_ids):
        if pair in first:
            other = first[pair]
            same = labels[other] == labels[row]
            raise rows.fail(
                row,
                f"the pair of line {rows.lines[other]} again, with "
                + (
                    "the same label; remove one of the two rows"
                    if same
                    else f"another label ({labels[other]} there, {labels[row]} here); decide which one holds"
                ),
            )
        first[pair] = row


def corpus_table(texts: dict[str, str]) -> Table:
    """Returns the retrieval corpus from texts by id, in the order of the texts."""
    return _texts_table("corpus", texts)


def queries_table(texts: dict[str, str]) -> Table:
    """Returns the queries from texts by id, in the order of the texts."""
    return _texts_table("queries", texts)


def _texts_table(config: str, texts: dict[str, str]) -> Table:
    ordered = sorted(texts.items(), key=lambda pair: pair[1])
    return Table(
        config,
        "test",
        TEXT_BY_ID.kinds,
        {"_id": [i for i, _ in ordered], "text": [t for _, t in ordered]},
        ("_id",),
    )


def qrels_table(config: str, pairs: list[dict[str, Any]]) -> Table:
    """Returns the relevance judgements of labelled pairs: 1 for appropriate, 0 for judged and not appropriate."""
    data = {
        "query-id": [pair["hs_id"] for pair in pairs],
        "corpus-id": [pair["cn_id"] for pair in pairs],
        "score": [int(pair["label"] == "appropriate") for pair in pairs],
    }
    return Table(config, "test", QRELS.kinds, data, ("query-id", "corpus-id"))


def benchmark_tables(
    pairs_by_tier: dict[str, list[dict[str, Any]]], broadest: str
) -> tuple[list[Table], dict[str, str]]:
    """Returns corpus, queries and qrels in the layout of BEIR and MTEB, and the config aliases of the tiers.

    Args:
        pairs_by_tier: The labelled pairs of every tier.
        broadest: The tier that `corpus`, `queries` and `qrels` without a prefix stand for.
    """
    everything = pairs_by_tier[broadest]
    tables = [
        corpus_table({pair["cn_id"]: pair["counter_narrative"] for pair in everything}),
        queries_table({pair["hs_id"]: pair["hate_speech"] for pair in everything}),
        qrels_table("qrels", everything),
    ]
    tables += [qrels_table(f"{tier}-qrels", pairs) for tier, pairs in pairs_by_tier.items() if tier != broadest]
    aliases = {f"{broadest}-qrels": "qrels"}
    for tier in pairs_by_tier:
        aliases |= {f"{tier}-corpus": "corpus", f"{tier}-queries": "queries"}
    return tables, aliases
