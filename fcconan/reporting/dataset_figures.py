"""The counts of a dataset folder: rows, labels, tiers and their sparsity, votes, ratings, verdicts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fcconan.data import AGREEMENTS, LABELS, TIERS, VERDICTS, VOTE_LABELS
from fcconan.reporting.dataset_folders import Release, Source
from fcconan.reporting.tables import MISSING, Columns, Table, counts_text, number, table_of

APPROPRIATE = LABELS[1]


def all_tables(release: Release) -> list[Table]:
    """Returns every table of figures that the folder has rows for."""
    sources = release.sources
    found: list[Table | None] = [
        rows_table(release),
        sparsity_table(sources),
        labels_table(sources),
        agreement_table(sources),
        votes_table(sources),
        replies_table(sources),
        ratings_table(sources),
        verdicts_table(sources),
    ]
    return [table for table in found if table is not None and table.rows]


def rows_table(release: Release) -> Table:
    """Returns the number and kind of the rows of every split of every config."""
    columns: Columns = {
        "config, split": lambda source: source.title,
        "what": lambda source: source.kind,
        "rows": lambda source: source.table.num_rows,
        "columns of texts": lambda source: ", ".join(sorted(source.texts)) or "none",
    }
    return table_of("Rows by config and split", release.sources, columns)


def tiers_of(sources: Iterable[Source]) -> dict[str, Source]:
    """Returns the tables of tiers, the best first."""
    named = {source.config: source for source in sources if source.kind == "pairs" and source.has("tier")}
    return {tier: named[tier] for tier in TIERS if tier in named}


def sparsity_table(sources: Sequence[Source]) -> Table | None:
    """Returns how much of the matrix of HS and CNs every tier judges, and how few of its pairs are appropriate."""
    tiers = tiers_of(sources)
    if not tiers:
        return None
    hs_ids = {value for source in tiers.values() for value in source.values("hs_id")}
    cn_ids = {value for source in tiers.values() for value in source.values("cn_id")}
    cells = len(hs_ids) * len(cn_ids)
    rows = []
    for tier, source in tiers.items():
        pairs = list(zip(*(source.values(name) for name in ("hs_id", "cn_id", "label")), strict=True))
        good = [(hs, cn) for hs, cn, label in pairs if label == APPROPRIATE]
        n_hs, n_cn = (len(set(ids)) for ids in zip(*good, strict=True)) if good else (0, 0)
        shares = [str(len(pairs)), _percent(len(pairs), cells), str(len(good)), _percent(len(good), len(pairs))]
        per_hs = f"{len(good) / len(hs_ids):.2f}"
        rows.append([tier, *shares, f"{n_hs} of {len(hs_ids)}", f"{n_cn} of {len(cn_ids)}", per_hs])
    columns = ["tier", "pairs", "of the matrix", "appropriate", "of the pairs", "HS with one", "CNs with one", "per HS"]
    return Table(f"How sparse the tiers are: {len(hs_ids)} HS x {len(cn_ids)} CNs", columns, rows)


def labels_table(sources: Sequence[Source]) -> Table:
    """Returns the labels of all tables of pairs."""
    rows = []
    for source in sources:
        if source.kind == "pairs":
            n = source.table.num_rows
            labels = Counter(source.values("label")) if source.has("label") else Counter()
            counts = [
                n,
                *(len(set(source.values(name))) for name in ("hs_id", "cn_id")),
                *(labels[each] for each in LABELS),
            ]
            counts.append(n - sum(labels[label] for label in LABELS))
            rows.append([source.title, *map(str, counts), _percent(labels[APPROPRIATE], n)])
    columns = ["config, split", "pairs", "HS", "CNs", *map(_words, LABELS), "no label", "share appropriate"]
    return Table("Labels of pairs", columns, rows)


def agreement_table(sources: Sequence[Source]) -> Table | None:
    """Returns how the votes on the pairs of every tier relate to their labels."""
    tiers = tiers_of(sources)
    if not tiers:
        return None
    broadest = list(tiers.values())[-1]
    if not broadest.has("agreement"):
        return None
    found = Counter(zip(broadest.values("tier"), broadest.values("agreement"), strict=True))
    rows = [
        [tier, *(str(found[tier, kind]) for kind in AGREEMENTS), str(sum(found[tier, kind] for kind in AGREEMENTS))]
        for tier in tiers
    ]
    return Table("Best tier of a pair and agreement of its votes", ["best tier", *AGREEMENTS, "pairs"], rows)


def votes_table(sources: Sequence[Source]) -> Table:
    """Returns the votes of every rater."""
    rows = []
    for source in sources:
        if source.kind == "votes":
            found = Counter(zip(source.values("rater"), source.values("label"), strict=True))
            for rater in sorted({rater for rater, _ in found}):
                counts = [found[rater, label] for label in VOTE_LABELS]
                rows.append([rater, *map(str, counts), str(sum(counts)), source.split])
    return Table("Votes", ["rater", *map(_words, VOTE_LABELS), "votes", "split"], rows)


def replies_table(sources: Sequence[Source]) -> Table:
    """Returns the replies of every system."""
    rows = []
    for source in sources:
        if source.kind == "replies" and source.has("item_id"):
            items: dict[str, list[str]] = {}
            for system, item in zip(source.values("system"), source.values("item_id"), strict=True):
                items.setdefault(system, []).append(item)
            rows += [[str(name), source.title, str(len(own)), str(len(set(own)))] for name, own in items.items()]
    return Table("Replies by system", ["system", "config, split", "replies", "items"], rows)


def ratings_table(sources: Sequence[Source]) -> Table:
    """Returns the ratings by rater and aspect: their number, their mean, and the missing ones by reason."""
    rows = []
    for source in sources:
        if source.kind != "ratings":
            continue
        found: dict[tuple[str, str], tuple[list[float], Counter[str]]] = {}
        columns = [source.values(name) for name in ("rater", "aspect", "value")]
        reasons = source.values("reason") if source.has("reason") else [None] * source.table.num_rows
        for rater, aspect, value, reason in zip(*columns, reasons, strict=True):
            values, missing = found.setdefault((rater, aspect), ([], Counter()))
            if value is None:
                missing[_words(reason)] += 1
            else:
                values.append(value)
        for (rater, aspect), (values, missing) in found.items():
            mean = number(sum(values) / len(values) if values else None, 2)
            why = counts_text(dict(sorted(missing.items())))
            rows.append([rater, aspect, source.split, str(len(values)), mean, str(missing.total()), why])
    return Table("Ratings by rater and aspect", ["rater", "aspect", "split", "ratings", "mean", "missing", "why"], rows)


def verdicts_table(sources: Sequence[Source]) -> Table:
    """Returns the verdicts of every rater on every two systems, whichever of the two came first."""
    found: dict[tuple[str, ...], Counter[str]] = {}
    for source in sources:
        if source.kind != "comparisons":
            continue
        columns = [source.values(name) for name in ("rater", "system_a", "system_b", "verdict")]
        corpora = source.values("corpus") if source.has("corpus") else [""] * source.table.num_rows
        for rater, a, b, verdict, corpus in zip(*columns, corpora, strict=True):
            first, second = sorted((a, b))
            turned = {"a": "b", "b": "a"}.get(verdict, verdict) if first != a else verdict
            key = (f"{first} and {second}", rater, source.split, str(corpus))
            found.setdefault(key, Counter())[turned] += 1
    rows = [
        [*key, *(str(own[verdict]) for verdict in VERDICTS), str(own.total())] for key, own in sorted(found.items())
    ]
    names = ["first wins", "second wins", "ties", "invalid", "comparisons"]
    table = Table("Verdicts by rater and systems", ["systems", "rater", "split", "corpus", *names], rows)
    return table if any(key[3] for key in found) else table.without(["corpus"])


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else MISSING


def _words(name: Any) -> str:
    return str(name).replace("_", " ")
