"""The figures of a dataset card, computed from the tables."""

from typing import Any

from fcconan.building.tables import Built, Table


def mean_words(texts: list[str | None]) -> float | None:
    """Returns the mean number of words, to two decimals, of the texts that are there; None if none is."""
    counts = [len(text.split()) for text in texts if text is not None]
    return round(sum(counts) / len(counts), 2) if counts else None


def pair_statistics(table: Table) -> dict[str, Any] | None:
    """Returns the figures of a table of pairs as in Table 2 of the pairwise-ranking paper, or None for another table.

    Returns:
        Pairs, distinct HS, distinct CNs, CNs per HS (pairs divided by distinct HS), and words per CN (split at white
        space, mean over the pairs). Distinct means distinct after normalisation.
    """
    if "counter_narrative" not in table.columns or not len(table):
        return None
    distinct_hs = len(set(table.data["hs_id"]))
    labels = table.data["label"]
    return {
        "config": table.config,
        "split": table.split,
        "pairs": len(table),
        "appropriate": labels.count("appropriate"),
        "hate_speech": distinct_hs,
        "counter_narratives": len(set(table.data["cn_id"])),
        "cns_per_hs": round(len(table) / distinct_hs, 2),
        "words_per_cn": mean_words(table.data["counter_narrative"]),
    }


def reply_statistics(table: Table) -> dict[str, Any] | None:
    """Returns the figures of a table of replies, or None for another table."""
    if "reply_id" not in table.columns or "system" not in table.columns or not len(table):
        return None
    return {
        "config": table.config,
        "split": table.split,
        "replies": len(table),
        "systems": len(set(table.data["system"])),
        "items": len(set(table.data["item_id"])),
        "hate_speech": len(set(table.data["hs_id"])),
        "words_per_reply": mean_words(table.data["text"]),
    }


def statistics(built: Built) -> dict[str, list[dict[str, Any]]]:
    """Returns the figures of every table that has any, and missing values by reason for tables of ratings."""
    pairs = [figures for table in built.tables if (figures := pair_statistics(table))]
    replies = [figures for table in built.tables if (figures := reply_statistics(table))]
    missing = []
    for table in built.tables:
        if table.config != "ratings":
            continue
        reasons: dict[str, int] = {}
        for reason in table.data["reason"]:
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
        missing += [
            {"config": table.config, "split": table.split, "reason": reason, "ratings": count}
            for reason, count in sorted(reasons.items())
        ]
    return {"pairs": pairs, "replies": replies, "missing_ratings": missing}
