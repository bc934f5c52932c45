"""Biases of judges: length, position, refusals, their own replies, and compression of the scale.

Each finding is a row with its value for an unbiased judge (`baseline`, null if unknown) and an interval. Shares have
Wilson's interval, other values a percentile bootstrap over HS. If HS and replies form a grid, both are resampled: see
`fcconan.judging.audit.findings`. People are audited in the same way as judges: if they also prefer longer replies,
longer replies may be better. The rows of a rater have these values of `check`, where the sign of a grade is reversed if
low grades are better:

- `length_wins`: share of wins of the reply with more words; ties count one half.
- `length_correlation`: Spearman between number of words and grade.
- `position_flips`, `position_reversals`: shares of comparisons whose two orders give different verdicts, and opposite
  winners.
- `first_position_wins`: share of wins of the reply shown first, over comparisons with a verdict in both orders.
- `refusal_wins`, `refusal_difference`: share of wins of refusals against other replies; mean grade of refusals minus
  that of other replies, in points of the scale.
- `modal_share`, `levels_used`, `entropy`: share of the most frequent grade; number of distinct grades over that of
  possible ones; entropy over the logarithm of the number of possible grades. Baseline: the same value of people's
  grades of these replies. The interval of `modal_share` is valid for the most frequent of all grades. The other two
  have no interval, because resamples can only lose grades.
- `spread`: standard deviation over that of people's grades of the same replies, on scales of length 1.
- `self_preference`: share of wins of the judge's own replies, minus the same share for people (or for the other raters,
  without people), over comparisons that both judged.
- `self_preference_grades`: mean grade of the judge's own replies minus that of other replies, minus the same difference
  for people (or for the other raters), over replies that both rated, on scales of length 1.
- `failures`: share of missing ratings or comparisons, in total (`failure` is null) and by reason.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fcconan import __version__
from fcconan.errors import InputError
from fcconan.judging.audit.findings import Findings, Who, deviation, difference, entropy, ratio
from fcconan.judging.audit.rows import read_comparisons, read_ratings, read_replies
from fcconan.parsing import PATTERNS
from fcconan.scoring import Floats

MOST_LEVELS = 401  # 1.00 to 5.00 in hundredths
_PEOPLE = "human"


def audit_judge(
    ratings: Iterable[Mapping[str, Any]] | None = None,
    comparisons: Iterable[Mapping[str, Any]] | None = None,
    replies: Iterable[Mapping[str, Any]] | None = None,
    *,
    own: Mapping[str, str | Sequence[str]] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    population: str = "",
) -> dict[str, Any]:
    """Computes known biases of judges.

    Args:
        ratings: Rows with the columns of a Rating.
        comparisons: Rows with the columns of a Comparison; verdicts are in terms of `system_a` and `system_b`. Verdicts
            of single orders are in `verdict_ab` and `verdict_ba`, or in a row for each order, whose column `order` is
            `ab` (reply a shown first) or `ba`.
        replies: Rows with `reply_id`, `text`, `hs_id` and, for grades of a rater's own replies, `system`. Without them,
            lengths and refusals are unknown, and the unit of the bootstrap is the item of a comparison or the reply of
            a rating.
        own: Rater -> system, or systems, of the rater's own replies; default: the system with the rater's name.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.
        population: Description of the audited data for the signature: files with their hashes.

    Returns:
        `signature`, `rows` and `families`. Rows have the keys `check`, `rater`, `aspect`, `failure`, `value`, `low`,
        `high`, `no_interval` (reason: `one_unit`; `no_spread`, if all resamples are equal; `biased`), `n` (number of
        ratings or comparisons), `n_units`, `n_missing` (missing, invalid, or of a reply without text), `baseline`,
        `reason` (of a missing value) and `note`. `families` lists the only correction: the interval of `modal_share`
        holds for all grades. All other intervals hold individually.

    Raises:
        InputError: A row is invalid or repeated, or `own` has an unknown rater or system.
    """
    known = read_replies(replies)
    findings = Findings(resamples, seed, confidence)
    verdicts = read_comparisons(comparisons or (), known)
    graded = read_ratings(ratings or (), known)
    if own is not None and len(verdicts) + len(graded):
        written = {system for pair in verdicts["systems"] for system in pair} | set(known["system"].dropna())
        _check_own(own, {*verdicts["rater"], *graded["rater"]}, written)
    who: Who
    for rater, mine in verdicts.groupby("rater"):
        who = {"rater": str(rater), "aspect": None}
        _wins(findings, "length_wins", who, mine, "words")
        _positions(findings, who, mine)
        _wins(findings, "refusal_wins", who, mine, "refuses")
        _self_preference(findings, who, mine, verdicts[verdicts["rater"] != rater], _systems(who, own))
        _failures(findings, who, mine)
    for (judge, aspect), grades in graded.groupby(["rater", "aspect"]):
        who = {"rater": str(judge), "aspect": str(aspect)}
        others = graded[(graded["aspect"] == aspect) & (graded["rater"] != judge)]
        _length_correlation(findings, who, grades)
        _refusal_difference(findings, who, grades)
        _self_preference_grades(findings, who, grades, others, _systems(who, own))
        _compression(findings, who, grades, others[others["kind"] == _PEOPLE])
        _failures(findings, who, grades)
    facts = {
        **({"data": population} if population else {}),
        "resamples": resamples,
        "seed": seed,
        "confidence": confidence,
        "refusals": hashlib.sha256(PATTERNS.read_bytes()).hexdigest()[:8],
        "correction": "bonferroni-of-modal-shares",
        "v": __version__,
    }
    return {
        "signature": "|".join(["audit", *(f"{key}:{value}" for key, value in facts.items())]),
        "rows": findings.rows,
        "families": findings.families,
    }


def _check_own(own: Mapping[str, str | Sequence[str]], raters: set[str], written: set[str]) -> None:
    for rater in own:
        systems = _systems({"rater": rater}, own)
        if rater not in raters or not systems & written:
            there = ", ".join(sorted(written)) or "none"
            raise InputError(
                f"found the rater {rater} with the systems {', '.join(sorted(systems))}; expected a rater among "
                f"{', '.join(sorted(raters))}, and systems among {there}: correct --self-judge"
            )


def _unknown(number: int, what: str) -> str:
    return f"{number} {what} --replies" if number else ""


def _notes(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _wins(findings: Findings, check: str, who: Who, verdicts: pd.DataFrame, size: str) -> None:
    """Adds the share of wins of the reply with the larger value."""
    a, b = verdicts[f"{size}_a"], verdicts[f"{size}_b"]
    unknown, equal = a.isna() | b.isna(), a == b
    used = verdicts[~unknown & ~equal & verdicts["share"].notna()]
    shares = verdicts["share"].where(a > b, 1 - verdicts["share"])[used.index]
    note = _notes(
        f"{equal.sum()} comparisons of replies with equal values are left out",
        _unknown(unknown.sum(), "comparisons have a reply that is missing from"),
    )
    missing = len(verdicts) - equal.sum() - len(used)
    findings.add_share(check, who, used, shares, n_missing=missing, baseline=0.5, note=note)


def _positions(findings: Findings, who: Who, verdicts: pd.DataFrame) -> None:
    asked = verdicts[verdicts["orders"].map(bool)]
    both = asked.dropna(subset=["ab", "ba"])
    columns: dict[str, Any] = {
        "n_missing": len(asked) - len(both),
        "note": f"{len(verdicts) - len(asked)} comparisons have no verdicts of single orders",
    }
    ab, ba = both["ab"], both["ba"]
    for check, shares, baseline in (
        ("position_flips", ab != ba, 0.0),
        ("position_reversals", (ab - ba).abs() == 1, 0.0),
        ("first_position_wins", (ab + 1 - ba) / 2, 0.5),  # shown first are a in one order and b in the other
    ):
        findings.add_share(check, who, both, shares, baseline=baseline, **columns)


def _systems(who: Who, own: Mapping[str, str | Sequence[str]] | None) -> set[str]:
    rater = str(who["rater"])
    systems = rater if own is None else own.get(rater, ())
    return {systems} if isinstance(systems, str) else set(systems)


def _self_preference(findings: Findings, who: Who, mine: pd.DataFrame, others: pd.DataFrame, systems: set[str]) -> None:
    if not any(systems & set(pair) for pair in mine["systems"]):
        return
    people = others[others["kind"] == _PEOPLE]
    reference: dict[Any, list[float]] = defaultdict(list)
    for pair, share in zip(*_own_shares(others if people.empty else people, systems), strict=True):
        reference[pair].append(share)
    one_own = mine["systems"].map(lambda pair: (pair[0] in systems) != (pair[1] in systems))
    pairs, shares = _own_shares(mine, systems)
    used = pairs.isin(list(reference))
    theirs = [reference[pair] for pair in pairs[used]]
    terms = np.array(
        [[share, 1.0, sum(each), len(each)] for share, each in zip(shares[used], theirs, strict=True)], dtype=np.float64
    )
    terms = terms.reshape(-1, 4).T
    note = "no comparison was also judged by others"
    if theirs:
        rates = [float(ratio(terms[at : at + 2].sum(axis=1))) for at in (0, 2)]
        note = f"own replies win {rates[0]:.3f}, with {_whose(people)} {rates[1]:.3f}"
    compared, missing = mine.loc[pairs.index[used]], one_own.sum() - len(theirs)
    findings.add("self_preference", who, compared, terms, difference, n_missing=missing, baseline=0.0, note=note)


def _own_shares(verdicts: pd.DataFrame, systems: set[str]) -> "tuple[pd.Series[Any], pd.Series[float]]":
    """Returns the pair, and the share of the own reply, of each valid verdict about one own reply."""
    a, b = (verdicts["systems"].map(lambda pair, at=at: pair[at] in systems).astype(bool) for at in (0, 1))
    shares = verdicts["share"].where(a, 1 - verdicts["share"])[(a != b) & verdicts["share"].notna()]
    return verdicts["pair"][shares.index], shares


def _whose(people: pd.DataFrame) -> str:
    return "the other raters" if people.empty else "people"


def _self_preference_grades(
    findings: Findings, who: Who, grades: pd.DataFrame, others: pd.DataFrame, systems: set[str]
) -> None:
    if not grades["system"].isin(systems).any():
        return
    people = others[others["kind"] == _PEOPLE]
    oriented = _orient_grades(others if people.empty else people).dropna()
    means = pd.Series(
        {reply: np.mean(each.to_numpy()) for reply, each in oriented.groupby(others["reply"])}, dtype=float
    )
    known = grades[_orient_grades(grades).notna() & grades["system"].notna() & grades["reply"].isin(means.index)]
    is_own = known["system"].isin(systems).to_numpy(dtype=np.float64)
    mine = _orient_grades(known).to_numpy()
    theirs = means.reindex(known["reply"]).to_numpy(dtype=np.float64)

    note = f"{int(is_own.sum())} of {len(known)} replies that others also rated are its own"
    if 0 < is_own.sum() < len(known):
        gaps = [float(difference(_by_group(is_own, values).sum(axis=1))) for values in (mine, theirs)]
        note = f"own minus other replies {gaps[0]:.3f}, with {_whose(people)} {gaps[1]:.3f}"
    # Both rated each reply, so that the difference of their gaps is the gap of their difference for each reply.
    findings.add(
        "self_preference_grades",
        who,
        known,
        _by_group(is_own, mine - theirs),
        difference,
        n_missing=len(grades) - len(known),
        baseline=0.0,
        undefined="one_group",
        note=note,
    )


def _by_group(is_first: Any, values: Any) -> Floats:
    """Returns the terms of the difference of the means of one group of rows and of the others."""
    return np.stack([is_first * values, is_first, (1 - is_first) * values, 1 - is_first])


def _failures(findings: Findings, who: Who, rows: pd.DataFrame) -> None:
    reasons = rows["reason"]
    for failure in (None, *sorted(reasons.dropna().unique())):
        failed = reasons.notna() if failure is None else reasons == failure
        findings.add_share("failures", who, rows, failed, failure=failure, baseline=0.0)


def _length_correlation(findings: Findings, who: Who, grades: pd.DataFrame) -> None:
    found = grades.dropna(subset=["words", "value"])
    findings.add_spearman(
        "length_correlation",
        who,
        found,
        np.stack([found["words"], found["sign"] * found["value"]]),
        n_missing=len(grades) - len(found),
        baseline=0.0,
        note=_unknown(grades["words"].isna().sum(), "ratings have no reply in"),
    )


def _refusal_difference(findings: Findings, who: Who, grades: pd.DataFrame) -> None:
    found = grades.dropna(subset=["refuses", "value"])
    refuses, values = found["refuses"].to_numpy(), (found["sign"] * found["value"]).to_numpy()
    findings.add(
        "refusal_difference",
        who,
        found,
        _by_group(refuses, values),
        difference,
        n_missing=len(grades) - len(found),
        baseline=0.0,
        undefined="one_group",
        note=_notes(
            f"{int(refuses.sum())} refusals" if len(found) else "",
            _unknown(grades["refuses"].isna().sum(), "ratings have no reply in"),
        ),
    )


def _compression(findings: Findings, who: Who, grades: pd.DataFrame, people: pd.DataFrame) -> None:
    found = grades.dropna(subset=["value"])
    same = people[people["value"].notna() & people["reply"].isin(found["reply"])]
    n_missing = len(grades) - len(found)
    possible, theirs = _levels(found), _levels(same)
    if possible is not None:
        modal = found["value"] == found["value"].mode().min()
        baseline = None if theirs is None else float(same["value"].value_counts(normalize=True).max())
        among = found["value"].nunique()
        findings.add_share("modal_share", who, found, modal, among=among, n_missing=n_missing, baseline=baseline)
    row: dict[str, Any] = {"n": len(found), "n_units": found["unit"].nunique(), "n_missing": n_missing}
    if possible is None:
        for check in ("modal_share", "levels_used", "entropy"):
            findings.write(check, who, np.nan, None, undefined="no_levels", **row)
    else:
        usual = (None, None) if theirs is None else _evenness(same, theirs)
        for check, value, baseline in zip(("levels_used", "entropy"), _evenness(found, possible), usual, strict=True):
            findings.write(check, who, value, None, baseline=baseline, no_interval="biased", **row)
    _spread(findings, who, found, same, n_missing)


def _evenness(grades: pd.DataFrame, possible: int) -> tuple[float, float]:
    """Returns the share of the possible grades that occur, and their entropy over the largest one."""
    counts = grades["value"].value_counts().sort_index().to_numpy().astype(np.float64)
    return len(counts) / possible, min(1.0, float(entropy(counts)) / math.log(possible))


def _levels(grades: pd.DataFrame) -> int | None:
    """Returns the number of possible grades; None if the scale is unknown, varies, or has too many grades.

    The step of the scale is 1, 0.1 or 0.01, the largest of which all grades are multiples.
    """
    scales = grades[["low", "high"]].drop_duplicates()
    if len(scales) != 1 or scales.isna().any(axis=None):
        return None
    low, high = scales.iloc[0]
    for steps in (1, 10, 100):
        places = (grades["value"] - low) * steps
        if ((places - places.round()).abs() < 1e-6).all():
            possible = round((high - low) * steps) + 1
            return possible if 2 <= possible <= MOST_LEVELS else None
    return None


def _spread(findings: Findings, who: Who, found: pd.DataFrame, people: pd.DataFrame, n_missing: int) -> None:
    mine = found[found["reply"].isin(people["reply"])]
    both = pd.concat([mine, people]).dropna(subset=["low"])
    values = _on_unit_scale(both).to_numpy()
    is_mine = (both["rater"] == who["rater"]).to_numpy(dtype=np.float64)
    terms = np.stack([part for of in (is_mine, 1 - is_mine) for part in (of * values**2, of * values, of)])
    findings.add(
        "spread",
        who,
        both,
        terms,
        lambda sums: ratio(np.stack([deviation(sums[:3]), deviation(sums[3:])])),
        n=int(is_mine.sum()),
        n_missing=n_missing + len(found) - len(mine),
        baseline=1.0,
        undefined="no_people" if people.empty else "constant",
        note=f"{len(people)} ratings of people",
    )


def _on_unit_scale(grades: pd.DataFrame) -> "pd.Series[float]":
    return (grades["value"] - grades["low"]) / (grades["high"] - grades["low"])


def _orient_grades(grades: pd.DataFrame) -> "pd.Series[float]":
    """Returns grades on scales of length 1, with reversed sign if low grades are better; nan if unknown."""
    return grades["sign"] * _on_unit_scale(grades)
