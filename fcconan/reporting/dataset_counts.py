"""The counts of a dataset folder: rows, labels, tiers and their sparsity, votes, ratings, verdicts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fcconan.data import AGREEMENTS, LABELS, TIERS, VERDICTS, VOTE_LABELS
from fcconan.reporting.dataset_folders import Source
from fcconan.reporting.tables import MISSING, Columns, DisplayTable, format_counts, format_number, make_table

APPROPRIATE = LABELS[1]


def all_tables(sources: Sequence[Source]) -> list[DisplayTable]:
    """Returns the tables of counts for which the folder has rows."""
    tiers = tiers_of(sources)
    found = [
        rows_table(sources),
        sparsity_table(tiers),
        labels_table(sources),
        agreement_table(tiers),
        votes_table(sources),
        replies_table(sources),
        ratings_table(sources),
        verdicts_table(sources),
    ]
    return [table for table in found if table.rows]


def rows_table(sources: Sequence[Source]) -> DisplayTable:
    """Returns the number and kind of the rows of every split of every config."""
    columns: Columns = {
        "config, split": lambda source: source.title,
        "what": lambda source: source.kind,
        "rows": lambda source: source.table.num_rows,
        "columns of texts": lambda source: ", ".join(sorted(source.texts)) or "none",
    }
    return make_table("Rows by config and split", sources, columns)


def tiers_of(sources: Iterable[Source]) -> dict[str, Source]:
    """Returns the tables of tiers, the best first."""
    named = {source.config: source for source in sources if source.kind == "pairs" and source.has("tier")}
    return {tier: named[tier] for tier in TIERS if tier in named}


def sparsity_table(tiers: Mapping[str, Source]) -> DisplayTable:
    """Returns how much of the matrix of HS and CNs every tier judges, and how few of its pairs are appropriate."""
    hs_ids, cn_ids = (
        {value for source in tiers.values() for value in source.values(name)} for name in ("hs_id", "cn_id")
    )
    rows = []
    for tier, source in tiers.items():
        pairs = source.rows("hs_id", "cn_id", "label")
        good = [(hs, cn) for hs, cn, label in pairs if label == APPROPRIATE]
        shares = [_percent(len(pairs), len(hs_ids) * len(cn_ids)), str(len(good)), _percent(len(good), len(pairs))]
        with_one = [
            f"{len({hs for hs, _ in good})} of {len(hs_ids)}",
            f"{len({cn for _, cn in good})} of {len(cn_ids)}",
        ]
        rows.append([tier, str(len(pairs)), *shares, *with_one, f"{len(good) / len(hs_ids):.2f}"])
    columns = [
        *("tier", "pairs", "share of matrix", "appropriate", "share of pairs"),
        *("HS with appropriate CN", "CNs with appropriate HS", "appropriate per HS"),
    ]
    return DisplayTable(f"How sparse the tiers are: {len(hs_ids)} HS x {len(cn_ids)} CNs", columns, rows)


def labels_table(sources: Sequence[Source]) -> DisplayTable:
    """Returns the labels of all tables of pairs."""
    rows = []
    for source in _of_kind("pairs", sources):
        n, labels = source.table.num_rows, Counter(source.values("label"))
        counts = [len(set(source.values(name))) for name in ("hs_id", "cn_id")] + [labels[each] for each in LABELS]
        without = n - sum(labels[label] for label in LABELS)
        rows.append([source.title, *map(str, [n, *counts, without]), _percent(labels[APPROPRIATE], n)])
    columns = ["config, split", "pairs", "HS", "CNs", *map(_words, LABELS), "no label", "share appropriate"]
    return DisplayTable("Labels of pairs", columns, rows)


def agreement_table(tiers: Mapping[str, Source]) -> DisplayTable:
    """Returns how the votes on the pairs of every tier relate to their labels; no rows where this is not known."""
    broadest = [*tiers.values()][-1:]
    found = Counter(pair for source in broadest if source.has("agreement") for pair in source.rows("tier", "agreement"))
    rows = [
        [tier, *(str(found[tier, kind]) for kind in AGREEMENTS), str(sum(found[tier, kind] for kind in AGREEMENTS))]
        for tier in tiers
        if found
    ]
    return DisplayTable("Best tier of a pair and agreement of its votes", ["best tier", *AGREEMENTS, "pairs"], rows)


def votes_table(sources: Sequence[Source]) -> DisplayTable:
    """Returns the votes of every rater."""
    rows = []
    for source in _of_kind("votes", sources):
        found = Counter(source.rows("rater", "label"))
        for rater in sorted({rater for rater, _ in found}):
            counts = [found[rater, label] for label in VOTE_LABELS]
            rows.append([rater, *map(str, counts), str(sum(counts)), source.split])
    return DisplayTable("Votes", ["rater", *map(_words, VOTE_LABELS), "votes", "split"], rows)


def replies_table(sources: Sequence[Source]) -> DisplayTable:
    """Returns the replies of every system."""
    rows = []
    for source in _of_kind("replies", sources):
        items = defaultdict[str, list[str]](list)
        for system, item in source.rows("system", "item_id") if source.has("item_id") else ():
            items[system].append(item)
        rows += [[str(name), source.title, str(len(own)), str(len(set(own)))] for name, own in items.items()]
    return DisplayTable("Replies by system", ["system", "config, split", "replies", "items"], rows)


def ratings_table(sources: Sequence[Source]) -> DisplayTable:
    """Returns the ratings by rater and aspect: their number, their mean, and the missing ones by reason."""
    rows = []
    for source in _of_kind("ratings", sources):
        found = defaultdict[tuple[str, str], list[tuple[float | None, str]]](list)
        for rater, aspect, value, reason in source.rows("rater", "aspect", "value", "reason"):
            found[rater, aspect].append((value, _words(reason)))
        for key, own in found.items():
            values = [value for value, _ in own if value is not None]
            missing = Counter(reason for value, reason in own if value is None)
            mean = format_number(sum(values) / len(values) if values else None, 2)
            why = format_counts(dict(sorted(missing.items())))
            rows.append([*key, source.split, str(len(values)), mean, str(missing.total()), why])
    return DisplayTable(
        "Ratings by rater and aspect", ["rater", "aspect", "split", "ratings", "mean", "missing", "why"], rows
    )


def verdicts_table(sources: Sequence[Source]) -> DisplayTable:
    """Returns the verdicts of every rater on every two systems, whichever of the two came first."""
    found = defaultdict[tuple[str, ...], Counter[str]](Counter)
    for source in _of_kind("comparisons", sources):
        for rater, a, b, verdict, corpus in source.rows("rater", "system_a", "system_b", "verdict", "corpus"):
            first, second = sorted((a, b))
            turned = {"a": "b", "b": "a"}.get(verdict, verdict) if first != a else verdict
            found[f"{first} and {second}", rater, source.split, corpus or ""][turned] += 1
    rows = [
        [*key, *(str(own[verdict]) for verdict in VERDICTS), str(own.total())] for key, own in sorted(found.items())
    ]
    names = ["first wins", "second wins", "ties", "invalid", "comparisons"]
    table = DisplayTable("Verdicts by rater and systems", ["systems", "rater", "split", "corpus", *names], rows)
    return table if any(key[3] for key in found) else table.without(["corpus"])


def _of_kind(kind: str, sources: Iterable[Source]) -> list[Source]:
    return [source for source in sources if source.kind == kind]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else MISSING


def _words(name: Any) -> str:
    return str(name).replace("_", " ")
