"""Tournaments: rankings of systems from verdicts on pairs of replies.

A system gets a point for every win and half a point for every tie; its share is the percentage of all points (Zubiaga
et al., 2024, section 4.1). Shares compare systems fairly only if all pairs met equally often, so results also have
Bradley-Terry strengths. Items are resampled with all their verdicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Row
from fcconan.scoring.correlation.coefficients import KENDALL_B, PEARSON, SPEARMAN, group_coefficients
from fcconan.scoring.names import bootstrap_parts, check_names, join_parts
from fcconan.scoring.significance.families import PRIMARY, system_pairs
from fcconan.scoring.significance.intervals import finite, percentile_interval
from fcconan.scoring.system_tests import (
    DRAWS,
    WIN_RATE,
    SystemDifferences,
    compare_differences,
    sign_flip_signature,
    system_test_notes,
    verdict_differences,
)
from fcconan.scoring.tournament.bradley_terry import (
    REGULARISATION,
    TournamentScores,
    score_tournament,
)
from fcconan.scoring.tournament.notes import tournament_notes
from fcconan.scoring.tournament.preferences import OUTCOME, Verdicts, majority_votes, read_verdicts

SCORES = ("share", "bradley_terry")
CORRELATIONS = {"spearman": SPEARMAN, "kendall": KENDALL_B, "pearson": PEARSON}
DIGITS = 11  # decimals of shares (in percent) and strengths


def rank_systems(
    comparisons: Iterable[Row] | Verdicts,
    *,
    population: str = "comparisons",
    majority: bool = False,
    baseline: str | None = None,
    regularisation: float = REGULARISATION,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Ranks systems by points, shares and Bradley-Terry strengths.

    Args:
        comparisons: Rows of `read_verdicts`, or its result. Verdicts of all raters are pooled; to avoid this, choose
            raters or use `majority`.
        population: Source of the rows, for the signature: a dataset with its fingerprint, or a file.
        majority: Whether to use the verdicts of the raters' majority (`majority_votes`).
        baseline: System that all others are tested against; None for all pairs.
        regularisation: Precision of the prior of the strengths (`fcconan.scoring.tournament.bradley_terry`); above 0.
        resamples: Number of resamples of the items; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.

    Returns:
        A dict with `signature`, `systems` (best first), `invalid` and `unresolved` (numbers of verdicts),
        `missing_pairs`, `missing_by_rater` and `missing_by_corpus` (pairs of systems without a verdict), `rater_kinds`,
        `corpora` (number of items of each), further counts, matrices of wins and ties, `notes`, `comparisons` (tests of
        differences between win rates, rows of `SystemTest`), `families` and `tests_signature`.

        `bradley_terry`, with its interval `low` and `high`, may be None with a `reason`: `no_verdicts` (no readable
        verdict) or `disconnected` (no comparisons connect all systems). With `majority`, kinds and corpora are
        still those of the rows.

        Percentile intervals of few items are too narrow: in simulations they covered the true value in 92 % of the
        cases with 20 items, and in 94 % with 80 or more.

    Raises:
        InputError: See `read_verdicts`; or no verdict is readable, a number is out of range, or the baseline is
            unknown.

    Examples:
        >>> won = [{"item_id": f"hs{n}", "system_a": "A", "system_b": "B", "verdict": "a"} for n in range(3)]
        >>> [(row["name"], row["points"]) for row in rank_systems(won, resamples=0)["systems"]]
        [('A', 3.0), ('B', 0.0)]
    """
    _check(regularisation, resamples, confidence)
    given = comparisons if isinstance(comparisons, Verdicts) else read_verdicts(comparisons)
    verdicts = read_verdicts(majority_votes(given)) if majority else given
    n_unresolved = int(verdicts.unresolved.sum())
    n_invalid = int(np.isnan(verdicts.outcome).sum()) - n_unresolved
    if n_invalid + n_unresolved == len(verdicts.outcome):
        raise InputError(
            f"no verdict is readable ({n_invalid} invalid, {n_unresolved} unresolved), expected wins or ties: look at "
            "their reasons"
        )
    pairs = system_pairs(verdicts.systems, baseline)
    fit = score_tournament(verdicts.wins(), regularisation, resamples, seed)
    matrix, single = _matrix(verdicts), len(fit.groups) == 1
    result: dict[str, Any] = {
        "signature": "",
        "systems": _systems(verdicts, fit, matrix, confidence),
        "invalid": n_invalid,
        "unresolved": n_unresolved,
        "missing_pairs": [
            [*pair] for pair, met in zip(combinations(verdicts.systems, 2), fit.met, strict=True) if met == 0
        ],
        "missing_by_rater": _missing_pairs(given, given.raters, np.eye(len(given.raters), dtype=bool)[:, given.rater]),
        "missing_by_corpus": _missing_pairs(given, list(given.corpora), _by_corpus(given)),
        "groups": [[verdicts.systems[i] for i in group] for group in fit.groups],
        "separated": [[verdicts.systems[i] for i in group] for group in fit.separated],
        "n_items": len(verdicts.items),
        "n_verdicts": len(verdicts.outcome),
        "n_repeated": verdicts.n_repeated,
        "n_both_orders": verdicts.n_both_orders,
        "n_flipped": verdicts.n_flipped,
        "n_disconnected_resamples": int(np.isnan(fit.drawn_strengths).all(axis=1).sum()) if single else 0,
        "fewest_per_pair": int(fit.met.min()),
        "most_per_pair": int(fit.met.max()),
        "raters": [*verdicts.raters],
        "rater_kinds": dict(zip(given.raters, given.kinds, strict=True)),
        "corpora": {name: len(items) for name, items in given.corpora.items()},
        "win_matrix": matrix,
        "settings": {
            "regularisation": regularisation,
            "ties": "half-win",
            "majority": majority,
            "resamples": resamples,
            "confidence": confidence,
            "seed": seed,
            "version": fcconan.__version__,
        },
    }
    measure = SystemDifferences(None, WIN_RATE, True, PRIMARY, verdict_differences(verdicts.wins(), pairs))
    tests, families = compare_differences(
        [measure], verdicts.systems, pairs, resamples=resamples, seed=seed, confidence=confidence
    )
    result["comparisons"] = [asdict(row) for row in tests]
    result["families"] = [family.to_json() for family in families]
    result["notes"] = [*tournament_notes(result), *system_test_notes(tests, families)]
    signature = result["signature"] = _signature(result, population)
    result["tests_signature"] = sign_flip_signature(
        signature, families, by="win-rates", draws=resamples or DRAWS, baseline=baseline
    )
    return result


def _check(regularisation: float, resamples: int, confidence: float) -> None:
    if not 0 < regularisation < np.inf or resamples < 0 or not 0 < confidence < 1:
        raise InputError(
            f"found the regularisation {regularisation}, {resamples} resamples and the confidence {confidence}: give a "
            "number above 0, 0 or more, and a number between 0 and 1"
        )


def _signature(result: Mapping[str, Any], population: str) -> str:
    settings = result["settings"]
    return join_parts(
        {
            "fcconan": settings["version"],
            "metric": "bradley-terry+share",
            "data": population,
            "raters": ",".join(result["raters"]),
            "items": result["n_items"],
            "verdicts": f"{result['n_verdicts'] - result['invalid'] - result['unresolved']}-of-{result['n_verdicts']}",
            "ties": "half-win",
            "orders": "disagreement-ties",
            "regularisation": f"{settings['regularisation']:g}",
            **bootstrap_parts(settings["resamples"], settings["seed"], settings["confidence"]),
        }
    )


def _by_corpus(verdicts: Verdicts) -> Flags:
    """Returns whether each verdict is on an item of each corpus; shape (corpora, verdicts)."""
    of = [[item in items for item in verdicts.items] for items in verdicts.corpora.values()]
    return np.array(of, dtype=bool).reshape(len(of), len(verdicts.items))[:, verdicts.item]


def _missing_pairs(verdicts: Verdicts, names: Sequence[str], parts: Flags) -> dict[str, list[list[str]]]:
    """Returns the pairs of systems without a readable verdict, for the parts of the verdicts that lack any.

    Args:
        verdicts: All verdicts.
        names: Names of the parts.
        parts: Whether each verdict belongs to each part, shape (parts, verdicts).
    """
    size, found = len(verdicts.systems), {}
    for name, own in zip(names, parts & ~np.isnan(verdicts.outcome), strict=True):
        met = np.zeros((size, size), dtype=bool)
        met[verdicts.first[own], verdicts.second[own]] = True
        missing = ~(met | met.T)
        pairs = [[verdicts.systems[i], verdicts.systems[j]] for i, j in combinations(range(size), 2) if missing[i, j]]
        if pairs:
            found[name] = pairs
    return found


def _matrix(verdicts: Verdicts) -> dict[str, Any]:
    size = len(verdicts.systems)
    first_won, second_won, tied = np.zeros((3, size, size), dtype=np.int64)
    for counts, verdict in ((first_won, "a"), (second_won, "b"), (tied, "tie")):
        there = verdicts.outcome == OUTCOME[verdict]
        np.add.at(counts, (verdicts.first[there], verdicts.second[there]), 1)
    wins, ties = first_won + second_won.T, tied + tied.T
    return {"systems": [*verdicts.systems], "wins": wins.tolist(), "ties": ties.tolist()}


def _systems(
    verdicts: Verdicts, fit: TournamentScores, matrix: Mapping[str, Any], confidence: float
) -> list[dict[str, Any]]:
    wins, ties = np.array(matrix["wins"]), np.array(matrix["ties"])
    low, high = _interval_ends(fit.drawn_strengths, confidence)
    share_low, share_high = _interval_ends(fit.drawn_shares, confidence)
    unread = {"invalid": np.isnan(verdicts.outcome) & ~verdicts.unresolved, "unresolved": verdicts.unresolved}
    rows = []
    for i, name in enumerate(verdicts.systems):
        reason = None if len(fit.groups) == 1 else "disconnected"
        here = (verdicts.first == i) | (verdicts.second == i)
        rows.append(
            {
                "name": name,
                "points": float(wins[i].sum() + ties[i].sum() / 2),
                "share": finite(fit.shares[i]),
                "share_low": share_low[i],
                "share_high": share_high[i],
                "bradley_terry": finite(fit.strengths[i]),
                "low": low[i],
                "high": high[i],
                "wins": int(wins[i].sum()),
                "losses": int(wins[:, i].sum()),
                "ties": int(ties[i].sum()),
                **{name: int((which & here).sum()) for name, which in unread.items()},
                "reason": reason if i in fit.ranked else "no_verdicts",
            }
        )
    return sorted(rows, key=_best_first)


def _best_first(row: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(np.inf if row[key] is None else -row[key] for key in ("bradley_terry", "share"))


def _interval_ends(draws: Floats, confidence: float) -> tuple[list[float | None], list[float | None]]:
    if not len(draws):
        return [None] * draws.shape[1], [None] * draws.shape[1]
    low, high = percentile_interval(draws, confidence)
    return [finite(end) for end in low], [finite(end) for end in high]


def compare_raters(
    comparisons: Iterable[Row] | Verdicts,
    *,
    score: str = "share",
    regularisation: float = REGULARISATION,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[dict[str, Any]]:
    """Correlates the scores of systems by each pair of raters.

    A rater's scores are those of all verdicts of that rater; resamples draw from the items of all raters.

    Args:
        comparisons: Rows of `read_verdicts`, or its result.
        score: `share` or `bradley_terry`.
        regularisation: See `rank_systems`.
        resamples: Number of resamples of the items; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.

    Returns:
        Rows with `a`, `b` (raters), `score`, `coefficient` (one of `CORRELATIONS`), `value`, `low`, `high`, `n`
        (systems that have a score in both tables), `n_missing` (other systems), `n_undefined` (resamples without a
        value, which the interval leaves out) and `reason` (`too_few_systems` or `constant` where there is no value).

    Raises:
        InputError: See `read_verdicts`; or the score is unknown.
    """
    check_names("score", [score], SCORES)
    _check(regularisation, resamples, confidence)
    verdicts = comparisons if isinstance(comparisons, Verdicts) else read_verdicts(comparisons)
    tables, draws = {}, {}
    for position, name in enumerate(verdicts.raters):
        fit = score_tournament(verdicts.wins(position), regularisation, resamples, seed)
        tables[name] = fit.shares if score == "share" else fit.strengths
        draws[name] = fit.drawn_shares if score == "share" else fit.drawn_strengths
    rows = []
    for a, b in combinations(verdicts.raters, 2):
        both = ~np.isnan(tables[a] + tables[b])
        for row in _correlated(tables[a], tables[b]):
            row |= {"a": a, "b": b, "score": score, "low": None, "high": None, "n_undefined": 0}
            if row["value"] is not None:
                drawn = _correlation(draws[a][:, both], draws[b][:, both], row["coefficient"])[:, None]
                (row["low"],), (row["high"],) = _interval_ends(drawn, confidence)
                row["n_undefined"] = int(np.isnan(drawn).sum())
            rows.append(row)
    return rows


def correlate_tables(x: Mapping[str, float | None], y: Mapping[str, float | None]) -> list[dict[str, Any]]:
    """Correlates two tables of scores by system, such as a published one and a recomputed one.

    Args:
        x: System -> score; None is missing.
        y: System -> score of the other table.

    Returns:
        Rows with `coefficient` (one of `CORRELATIONS`), `value`, `n` (systems in both), `n_missing` (other systems) and
        `reason` (`too_few_systems` or `constant` where there is no value).
    """
    systems = [*dict.fromkeys([*x, *y])]
    first, second = (
        np.array([np.nan if (value := table.get(name)) is None else float(value) for name in systems])
        for table in (x, y)
    )
    return _correlated(first, second)


def _correlated(x: Floats, y: Floats) -> list[dict[str, Any]]:
    both = ~np.isnan(x + y)
    n = int(both.sum())
    rows = []
    for name in CORRELATIONS:
        value = finite(_correlation(x[None, both], y[None, both], name)[0]) if n > 1 else None
        reason = None if value is not None else "constant" if n > 1 else "too_few_systems"
        rows.append({"coefficient": name, "value": value, "n": n, "n_missing": len(x) - n, "reason": reason})
    return rows


def _correlation(x: Floats, y: Floats, name: str) -> Floats:
    """Correlates scores, shape (tables, systems) to (tables,); nan if x or y is constant or a score is missing."""
    # Scores that differ only by rounding errors are ties.
    x, y = np.round(x, DIGITS), np.round(y, DIGITS)
    return group_coefficients(x, y, [CORRELATIONS[name]])[CORRELATIONS[name]]
