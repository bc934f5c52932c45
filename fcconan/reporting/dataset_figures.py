"""The figures of a dataset folder: rows, labels, tiers and their sparsity, votes, ratings, verdicts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fcconan.data import AGREEMENTS, LABELS, TIERS, VERDICTS, VOTE_LABELS
from fcconan.reporting.dataset_folders import Release, Source
from fcconan.reporting.tables import MISSING, Table

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
    """Returns how many rows every split of every config has, and what they are."""
    rows = [
        [source.title, source.kind, str(source.table.num_rows), ", ".join(sorted(source.texts)) or "none"]
        for source in release.sources
    ]
    return Table("Rows by config and split", ["config, split", "what", "rows", "columns of texts"], rows)


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
        with_one = len({hs for hs, _ in good})
        rows.append(
            [
                tier,
                str(len(pairs)),
                _percent(len(pairs), cells),
                str(len(good)),
                _percent(len(good), len(pairs)),
                f"{with_one} of {len(hs_ids)}",
                f"{len({cn for _, cn in good})} of {len(cn_ids)}",
                f"{len(good) / len(hs_ids):.2f}",
            ]
        )
    columns = ["tier", "pairs", "of the matrix", "appropriate", "of the pairs", "HS with one", "CNs with one", "per HS"]
    return Table(f"How sparse the tiers are: {len(hs_ids)} HS x {len(cn_ids)} CNs", columns, rows)


def labels_table(sources: Sequence[Source]) -> Table | None:
    """Returns the labels of all tables of pairs."""
    rows = []
    for source in sources:
        if source.kind != "pairs":
            continue
        labels = Counter(source.values("label")) if source.has("label") else Counter({None: source.table.num_rows})
        n = source.table.num_rows
        rows.append(
            [
                source.title,
                str(n),
                *(str(len(set(source.values(name)))) for name in ("hs_id", "cn_id")),
                *(str(labels[label]) for label in LABELS),
                str(n - sum(labels[label] for label in LABELS)),
                _percent(labels[APPROPRIATE], n),
            ]
        )
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


def votes_table(sources: Sequence[Source]) -> Table | None:
    """Returns the votes of every rater."""
    rows = []
    for source in sources:
        if source.kind == "votes":
            found = Counter(zip(source.values("rater"), source.values("label"), strict=True))
            for rater in sorted({rater for rater, _ in found}):
                counts = [found[rater, label] for label in VOTE_LABELS]
                rows.append([rater, *map(str, counts), str(sum(counts)), source.split])
    return Table("Votes", ["rater", *map(_words, VOTE_LABELS), "votes", "split"], rows)


def replies_table(sources: Sequence[Source]) -> Table | None:
    """Returns the replies of every system."""
    rows = []
    for source in sources:
        if source.kind == "replies" and source.has("item_id"):
            items: dict[str, list[str]] = {}
            for system, item in zip(source.values("system"), source.values("item_id"), strict=True):
                items.setdefault(system, []).append(item)
            rows += [[str(name), source.title, str(len(own)), str(len(set(own)))] for name, own in items.items()]
    return Table("Replies by system", ["system", "config, split", "replies", "items"], rows)


def ratings_table(sources: Sequence[Source]) -> Table | None:
    """Returns the ratings by rater and aspect: how many, their mean, and how many are missing for which reason."""
    rows = []
    for source in sources:
        if source.kind != "ratings":
            continue
        values: dict[tuple[str, str], list[float]] = {}
        missing: dict[tuple[str, str], Counter[str]] = {}
        columns = [source.values(name) for name in ("rater", "aspect", "value")]
        reasons = source.values("reason") if source.has("reason") else [None] * source.table.num_rows
        for rater, aspect, value, reason in zip(*columns, reasons, strict=True):
            if value is None:
                missing.setdefault((rater, aspect), Counter())[str(reason)] += 1
            else:
                values.setdefault((rater, aspect), []).append(value)
        for key in dict.fromkeys([*values, *missing]):
            own, why = values.get(key, []), missing.get(key, Counter())
            mean = f"{sum(own) / len(own):.2f}" if own else MISSING
            said = ", ".join(f"{_words(reason)} {n}" for reason, n in sorted(why.items())) or MISSING
            rows.append([key[0], key[1], source.split, str(len(own)), mean, str(why.total()), said])
    columns_shown = ["rater", "aspect", "split", "ratings", "mean", "missing", "why"]
    return Table("Ratings by rater and aspect", columns_shown, rows)


def verdicts_table(sources: Sequence[Source]) -> Table | None:
    """Returns the verdicts of every rater on every two systems, whichever of the two came first."""
    found: dict[tuple[str, ...], Counter[str]] = {}
    for source in sources:
        if source.kind != "comparisons":
            continue
        columns = [source.values(name) for name in ("rater", "system_a", "system_b", "verdict")]
        corpora = source.values("corpus") if source.has("corpus") else [""] * source.table.num_rows
        for (rater, a, b, verdict, corpus), n in Counter(zip(*columns, corpora, strict=True)).items():
            first, second = sorted((a, b))
            turned = {"a": "b", "b": "a"}.get(verdict, verdict) if first != a else verdict
            found.setdefault((first, second, rater, source.split, str(corpus)), Counter())[turned] += n
    any_corpus = any(key[4] for key in found)
    rows = [
        [
            f"{first} and {second}",
            rater,
            split,
            *([corpus] if any_corpus else []),
            *(str(own[verdict]) for verdict in VERDICTS),
            str(own.total()),
        ]
        for (first, second, rater, split, corpus), own in sorted(found.items())
    ]
    names = ["first wins", "second wins", "ties", "invalid", "comparisons"]
    columns_shown = ["systems", "rater", "split", *(["corpus"] if any_corpus else []), *names]
    return Table("Verdicts by rater and systems", columns_shown, rows)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else MISSING


def _words(name: Any) -> str:
    return str(name).replace("_", " ")
