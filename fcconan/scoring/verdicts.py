"""Verdicts on pairs of replies: shares of points, Bradley-Terry strengths, and the agreement of raters."""

import warnings
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.data import check_names, rows_of
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Floats
from fcconan.scoring.bradley_terry import strengths
from fcconan.scoring.intervals import draws, few_items, means, percentile_interval, safe_divide
from fcconan.scoring.paired_tests import difference_table, family

if TYPE_CHECKING:
    from pandas import DataFrame

OUTCOMES = {"a": 1.0, "tie": 0.5, "b": 0.0, "invalid": -1.0}
CELLS = {"wins_a": 1.0, "wins_b": 0.0, "ties": 0.5}
COEFFICIENTS = ("spearman", "kendall", "pearson")


def rank_verdicts(
    comparisons: "DataFrame",
    chosen: tuple[str, ...],
    majority: bool,
    baseline: tuple[str, ...],
    bootstrap: Bootstrap,
) -> tuple[dict[str, "DataFrame"], list[str]]:
    """Returns the tables and notes of `fcconan.rank` for verdicts.

    Args:
        comparisons: The rows.
        chosen: The raters that count; empty for all.
        majority: Whether one verdict counts for each pair of replies.
        baseline: Systems that all others are tested against; empty for all pairs.
        bootstrap: Resamples.

    Raises:
        InputError: A row is invalid, no verdict is readable, or a rater or baseline is unknown.
    """
    given = comparisons["rater"].fillna("rater") if "rater" in comparisons else "rater"
    comparisons = comparisons.assign(rater=given)
    check_names("rater", chosen, [*comparisons["rater"].unique()])
    if chosen:
        comparisons = comparisons[comparisons["rater"].isin(chosen)]
    verdicts, pair = canonical(comparisons)
    used = verdicts
    if majority:
        votes = _votes(verdicts, pair)
        readable = votes.drop(columns=-1.0)
        won = 2 * readable.max(axis=1) > votes.sum(axis=1)
        used = readable.idxmax(axis=1).where(won).rename("outcome").reset_index()
    if (invalid := int(used["outcome"].isna().sum())) == len(used):
        raise InputError(
            f"no verdict is readable ({invalid} are invalid), expected wins or ties: look at their reasons"
        )
    raters = verdicts["rater"].unique()
    name = raters[0] if len(raters) == 1 else "majority" if majority else f"{len(raters)} raters"
    systems = sorted({*used["a"], *used["b"]})
    wins = _wins(used, systems)
    table = _systems(used, wins, systems, bootstrap).assign(rater=name)
    order = [systems.index(each) for each in table["system"].unique()]  # pairs are in the order of the first table
    systems, wins = [systems[place] for place in order], wins[:, order][:, :, order]
    pairs = family(systems, baseline)
    tables = {
        "systems": table,
        "differences": difference_table(
            [{"rater": name, "aspect": "win_rate"}], _win_rates(wins, pairs)[None], systems, pairs, bootstrap
        ),
        "matrix": _matrix(used, systems),
    }
    if len(raters) > 1:
        tables["agreement"] = _agreement(verdicts, pair)
        tables["raters"] = _between_raters(verdicts, systems)
    notes = [f"{invalid} of {len(used)} verdicts are invalid or unresolved and count for no system."] if invalid else []
    return tables, [*notes, *_notes(tables), *few_items(len(wins), bootstrap)]


def _systems(verdicts: "DataFrame", wins: Floats, systems: list[str], bootstrap: Bootstrap) -> "DataFrame":
    """Returns scores and counts of systems, best first."""
    import pandas as pd

    sides = [verdicts[["a", "outcome"]], verdicts[["b"]].assign(outcome=1 - verdicts["outcome"])]
    own = pd.concat([each.set_axis(["system", "outcome"], axis=1) for each in sides]).fillna({"outcome": -1.0})
    counts = (
        pd.crosstab(own["system"], own["outcome"]).reindex(systems).reindex(columns=OUTCOMES.values(), fill_value=0)
    )
    won, tied, lost, missing = counts.to_numpy().T
    total, n = wins.sum(axis=0), won + tied + lost
    drawn = [np.tensordot(weights, wins, axes=1) for weights in draws(len(wins), bootstrap.resamples, bootstrap.seed)]
    table = pd.DataFrame({"system": systems, "n": n, "n_missing": missing})
    scores = {"strength": strengths(total), "share": _shares(total)}
    order = pd.DataFrame(scores).sort_values([*scores], ascending=False, kind="stable").index
    parts = []
    for name, score in (("strength", strengths), ("share", _shares)):
        ends: Any = (np.nan, np.nan)
        if drawn and len(wins) > 1:
            ends = percentile_interval(np.concatenate([score(each) for each in drawn]), bootstrap.confidence)
        parts.append(table.assign(aspect=name, value=scores[name], low=ends[0], high=ends[1]))
    for name, values in {"wins": won, "losses": lost, "ties": tied}.items():
        parts.append(table.assign(aspect=name, value=values.astype(float), low=np.nan, high=np.nan))
    return pd.concat([part.loc[order] for part in parts], ignore_index=True)


def _matrix(verdicts: "DataFrame", systems: list[str]) -> "DataFrame":
    """Counts the verdicts on each pair of systems, in the order of the systems."""
    import pandas as pd

    first, second = (pd.Index(systems).get_indexer(verdicts[side]) for side in "ab")
    outcome = verdicts["outcome"].where(first < second, 1 - verdicts["outcome"])
    places = pd.DataFrame({"a": np.minimum(first, second), "b": np.maximum(first, second)})
    pairs = pd.MultiIndex.from_tuples([*combinations(range(len(systems)), 2)], names=["a", "b"])
    counts = {name: places[(outcome == value).to_numpy()].value_counts() for name, value in CELLS.items()}
    found = pd.DataFrame({name: each.reindex(pairs, fill_value=0) for name, each in counts.items()}).reset_index()
    return found.assign(a=[systems[place] for place in found["a"]], b=[systems[place] for place in found["b"]])


def _notes(tables: dict[str, "DataFrame"]) -> list[str]:
    """Returns notes on pairs of systems that never met, and on systems that won or lost everything."""
    matrix, systems, notes = tables["matrix"], tables["systems"], []
    if (never := matrix[[*CELLS]].sum(axis=1) == 0).any():
        apart = ", ".join((matrix["a"] + " and " + matrix["b"])[never].head(5))
        disconnected = systems["value"][systems["aspect"] == "strength"].isna().all()
        effect = (
            "the comparisons do not connect all systems: there are no strengths"
            if disconnected
            else "compare strengths"
        )
        notes.append(
            f"{never.sum()} of {len(matrix)} pairs of systems never met ({apart}): shares are unfair; {effect}."
        )
    counts = systems.pivot(index="system", columns="aspect", values="value")
    alone = counts.index[(counts["ties"] == 0) & ((counts["wins"] == 0) ^ (counts["losses"] == 0))]
    return notes + [f"{name} won or lost all its comparisons: its strength depends on the prior." for name in alone]


def canonical(comparisons: "DataFrame") -> tuple["DataFrame", list[str]]:
    """Returns one verdict for each rater and pair of replies, as `oriented` with nan for an invalid verdict.

    Verdicts of one rater in both orders are merged: a tie if they disagree, invalid if one is. `turned` is that of the
    first one.

    Raises:
        InputError: As `oriented`.
    """
    found, pair = oriented(comparisons)
    grouped = found.groupby([*pair, "rater"], sort=False)
    lowest, highest = grouped["outcome"].min(), grouped["outcome"].max()
    outcome = lowest.where(lowest == highest, 0.5).mask(lowest < 0)
    return outcome.reset_index().assign(turned=grouped["turned"].first().to_numpy()), pair


def oriented(comparisons: "DataFrame") -> tuple["DataFrame", list[str]]:
    """Returns each verdict in terms of systems in the order of their names.

    Returns:
        Rows with `item_id`, `rater`, `a` and `b` (systems), `turned` (whether `b` comes first in the row) and `outcome`
        (1 if `a` won, .5 for a tie, -1 for an invalid verdict), and where they are known the replies `reply_1` and
        `reply_2`; and the columns that identify a pair of replies.

    Raises:
        InputError: A verdict is unknown, a system is compared with itself, a rater contradicts itself, or there are
            several aspects.
    """
    if "aspect" in comparisons and comparisons["aspect"].nunique() > 1:
        raise InputError("found verdicts on several aspects: choose one with --filter.aspect NAME")
    given = comparisons["verdict"]
    verdict = given.map({cell: cell.strip().lower() for cell in given.unique() if isinstance(cell, str)})
    wrong = ~verdict.isin(OUTCOMES) | (comparisons["system_a"] == comparisons["system_b"])
    lost = comparisons[["item_id", "system_a", "system_b"]].isna().any(axis=1)
    if (wrong | lost).any():
        row, at = comparisons[wrong | lost].iloc[0], rows_of(comparisons, wrong | lost)
        raise InputError(
            f"{at}: found verdict {row['verdict']!r} on {row['system_a']} and {row['system_b']}, item {row['item_id']}"
            f", expected an item, two systems, and one of {', '.join(OUTCOMES)}: correct the row"
        )
    turned = (comparisons["system_a"] > comparisons["system_b"]).to_numpy()
    outcome = verdict.map(OUTCOMES).to_numpy(dtype=float)
    outcome = np.where(turned & (outcome >= 0), 1 - outcome, outcome)
    found = comparisons[["item_id", "rater"]].assign(turned=turned, outcome=outcome)
    pair = ["item_id", "a", "b"]
    for side, other in ("ab", "ba"):
        found[side] = np.where(turned, comparisons[f"system_{other}"], comparisons[f"system_{side}"])
    replies = comparisons.reindex(columns=["reply_a", "reply_b"])
    if replies.notna().any(axis=None):
        if replies.isna().any(axis=None):
            raise InputError("found verdicts with and without reply_a and reply_b: give both in all rows or in none")
        found["reply_1"] = np.where(turned, comparisons["reply_b"], comparisons["reply_a"])
        found["reply_2"] = np.where(turned, comparisons["reply_a"], comparisons["reply_b"])
        pair += ["reply_1", "reply_2"]
    found = found.drop_duplicates()
    key = [*pair, "rater", "turned"]
    if (twice := found.duplicated(key)).any():
        row = found[twice].iloc[0]
        at = rows_of(found, found[key].eq(row[key]).all(axis=1))
        raise InputError(
            f"{at}: {row['rater']} gave different verdicts on {row['a']} and {row['b']}, item {row['item_id']}: "
            "remove one"
        )
    return found, pair


def _votes(verdicts: "DataFrame", pair: list[str]) -> "DataFrame":
    """Counts the raters of each pair of replies by their outcome; those of invalid verdicts are in the column -1."""
    votes = verdicts.fillna({"outcome": -1.0}).groupby([*pair, "outcome"], sort=False).size().unstack(fill_value=0)
    return votes.reindex(columns=[-1.0, 0.0, 0.5, 1.0], fill_value=0)


def _wins(verdicts: "DataFrame", systems: list[str]) -> Floats:
    """Counts wins of i over j on each item, a tie being half a win for both; shape (items, systems, systems)."""
    import pandas as pd

    items, item = np.unique(verdicts["item_id"], return_inverse=True)
    a, b = (pd.Index(systems).get_indexer(verdicts[side]) for side in "ab")
    points, there = verdicts["outcome"].to_numpy(), verdicts["outcome"].notna().to_numpy()
    wins = np.zeros((len(items), len(systems), len(systems)))
    np.add.at(wins, (item[there], a[there], b[there]), points[there])
    np.add.at(wins, (item[there], b[there], a[there]), 1 - points[there])
    return wins


def _shares(wins: Floats) -> Floats:
    points = wins.sum(axis=-1)
    return safe_divide(100 * points, points.sum(axis=-1, keepdims=True))


def _win_rates(wins: Floats, pairs: list[tuple[int, int]]) -> Floats:
    """Computes differences between win rates on every item, from comparisons of both with each other and with others.

    Returns:
        Shape (pairs, items); nan if the two met neither each other nor a common opponent.
    """
    rates = safe_divide(wins, wins + wins.swapaxes(1, 2))
    found = np.empty((len(pairs), len(wins)))
    for place, (a, b) in enumerate(pairs):
        apart = rates[:, a] - rates[:, b]  # nan for an opponent that one of them did not meet
        apart[:, a] = rates[:, a, b] - rates[:, b, a]
        found[place] = means(apart)
    return found


def _agreement(verdicts: "DataFrame", pair: list[str]) -> "DataFrame":
    """Counts pairs of replies with several raters by their agreement."""
    import pandas as pd

    votes = _votes(verdicts, pair)
    votes = votes[votes.sum(axis=1) > 1]
    readable = votes.drop(columns=-1.0)
    given, most = votes.sum(axis=1), readable.max(axis=1)
    unresolved = 2 * most <= given
    found = {
        "n": len(given),
        "unanimous": int((most == given).sum()),
        "majority": int((~unresolved & (most < given)).sum()),
        "unresolved": int(unresolved.sum()),
        "three_way": int((unresolved & readable.all(axis=1)).sum()),
    }
    return pd.DataFrame([found])


def _between_raters(verdicts: "DataFrame", systems: list[str]) -> "DataFrame":
    """Correlates the shares of systems by each pair of raters."""
    import pandas as pd

    shares = pd.DataFrame(
        {name: _shares(_wins(own, systems).sum(axis=0)) for name, own in verdicts.groupby("rater")}, systems
    )
    shares = shares.round(11)  # scores that differ by rounding errors are ties
    rows = []
    for (a, b), name in product(combinations(shares, 2), COEFFICIENTS):
        with warnings.catch_warnings(action="ignore"):  # equal shares have no correlation
            value = shares[a].corr(shares[b], method=name)
        n = int(shares[[a, b]].notna().all(axis=1).sum())
        rows.append({"a": a, "b": b, "coefficient": name, "value": value, "n": n})
    return pd.DataFrame(rows)
