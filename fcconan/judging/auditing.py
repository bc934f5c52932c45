"""`judge audit`: biases of judges."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from fcconan.data import RowSource, check_names, read_together, reply_texts
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Rows
from fcconan.parsing import PATTERNS, is_refusal
from fcconan.report import forest
from fcconan.result import Result
from fcconan.scoring import (
    Floats,
    Ints,
    Weighted,
    checked,
    draws,
    oriented,
    percentile_interval,
    safe_divide,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    Sources = Any  # a source or several

else:
    Sources = tuple[RowSource, ...]

Checks = Iterator[dict[str, Any]]
Statistic = Callable[[Floats], Floats]  # from weights of items, shape (resamples, items), to values, shape (resamples,)
MOST_LEVELS = 401  # 1.00 to 5.00 in hundredths
BLOCK = 256  # resamples at once
TINY = 1e-9  # of the width of an interval
SHARES = {"a": 1.0, "tie": 0.5, "b": 0.0}
ORDERS = ("verdict_ab", "verdict_ba", "reason_ab", "reason_ba")


def _flat(_: Any, given: Mapping[str, Any]) -> dict[str, str]:
    """Returns names with their dots, at which the command line splits them, as in gpt-4.1."""
    found: dict[str, str] = {}
    for name, value in given.items():
        inner = {f"{name}.{key}": each for key, each in _flat(_, value).items()} if isinstance(value, Mapping) else {}
        found |= inner or {name: value[0].value}
    return found


def audit(
    *,
    ratings: Sources = (),
    comparisons: Sources = (),
    replies: RowSource | None = None,
    self_judge: Annotated[dict[str, str], Parameter(converter=_flat)] = {},  # noqa: B006 - it is not changed
    rows: Rows = Rows(),
    bootstrap: Bootstrap = Bootstrap(),
) -> Result:
    """Measure biases of judges.

    Each check compares a rater with one that ignores a property, the `baseline`. People are checked in the same way: if
    they prefer longer replies, too, longer ones may be better. Intervals resample the items with all their replies;
    without width they are left out, as 0 flips in 10 comparisons do not exclude flips. Grades that are better low count
    with the other sign.

    Checks of comparisons: share of wins of the longer reply in words (`length_wins`), of the reply shown first
    (`first_position_wins`), and of refusals (`refusal_wins`), a tie being half a win; shares of comparisons whose
    orders differ (`position_flips`) or have opposite winners (`position_reversals`); share of wins of the judge's own
    replies minus that with people, or else with the other raters, over common comparisons (`self_preference`).

    Checks of ratings: Spearman between words and grade (`length_correlation`); mean grade of refusals minus that of
    other replies (`refusal_difference`), in points; share of the most frequent grade (`modal_share`), given among
    possible grades (`levels_used`), and entropy over its maximum (`entropy`), with those of people's grades of these
    replies as baseline; standard deviation over that of people (`spread`); mean grade of own replies minus that of
    others, minus this difference with people (`self_preference_grades`), on scales of length 1.

    `failures`: share of missing judgements, also by reason.

    Args:
        ratings: Files, dataset folders, or names of datasets with ratings.
        comparisons: The same with comparisons.
        replies: The judged replies, for lengths, refusals and systems.
        self_judge: System of the same model as a rater, as in `--self-judge.RATER SYSTEM`; default: that of its name.
        rows: Which ratings and comparisons are read.
        bootstrap: Resamples.

    Returns:
        `checks`: one row for each rater, aspect and check, with `value`, `low`, `high`, `baseline`, `n` (judgements),
        `n_missing`, and the `reason` of a missing value; `failure` is the reason that a row of `failures` counts.

    Raises:
        InputError: There are no rows, a source cannot be read, or a name is unknown.

    Examples:
        >>> rated = [{"reply_id": f"r{n}", "rater": "m", "aspect": "tone", "value": 3, "low": 1, "high": 5}
        ...          for n in range(4)]
        >>> found = audit(ratings=rated).to_frame().set_index("check")
        >>> float(found.loc["modal_share", "value"])
        1.0
    """
    import pandas as pd

    given = {"ratings": ratings, "comparisons": comparisons}
    given = {kind: each if isinstance(each, tuple) else (each,) for kind, each in given.items()}
    if not any(given.values()):
        raise InputError("found nothing to audit, expected ratings or comparisons: give --ratings or --comparisons")
    asked = [(kind, each, rows) for kind, each in given.items() if each]
    asked += [("replies", (replies,), Rows(rename=rows.rename))] if replies is not None else []
    found_rows = read_together(*asked)
    identity: dict[str, Any] = {kind: name for _, kind, name in found_rows}
    tables = dict.fromkeys(given, pd.DataFrame()) | {kind: table for table, kind, _ in found_rows}
    rated, compared = tables["ratings"], tables["comparisons"]
    about = pd.DataFrame(columns=["item_id", "system", "words", "refuses"], dtype=object)
    if replies is not None:
        table = tables["replies"].drop_duplicates("reply_id")
        about = reply_texts(table, identity["replies"]).set_index("reply_id")
        about = about.assign(words=about["text"].str.split().str.len(), refuses=about["text"].map(is_refusal))
    about = about.astype({"words": float, "refuses": float})
    raters = {*compared.get("rater", ()), *rated.get("rater", ())}
    systems = {*about["system"], *rated.get("system", ()), *compared.get("system_a", ()), *compared.get("system_b", ())}
    check_names("rater of --self-judge", self_judge, raters)
    check_names("system of --self-judge", self_judge.values(), systems)
    own = self_judge or {rater: rater for rater in raters}
    found = [*_of_comparisons(compared, about, own)] if len(compared) else []
    found += _of_ratings(rated, about, own) if len(rated) else []
    checks = _measured(found, bootstrap)
    notes = [note for note in rated.attrs.get("notes", ()) if "`rater`" in note]
    judged = [*rated.get("reply_id", ()), *compared.get("reply_a", ()), *compared.get("reply_b", ())]
    if lost := len({*judged} - {*about.index}):
        notes.append(f"Lengths and refusals of {lost} of {len({*judged})} replies are unknown: --replies lacks them.")
    identity["self_judge"] = ",".join(f"{rater}={system}" for rater, system in self_judge.items()) or None
    identity["refusals"] = hashlib.sha256(PATTERNS.read_bytes()).hexdigest()[:8]
    shown = checks.dropna(subset="value").fillna({"aspect": "", "failure": ""})
    label = (shown["rater"] + " " + shown["aspect"] + " " + shown["failure"]).str.strip()
    plots = {
        str(check): partial(forest, each, label="label", values=str(check).replace("_", " "))
        for check, each in shown.assign(label=label).groupby("check", sort=False)
    }
    return Result(
        "judge audit",
        {"checks": checks},
        identity | (vars(bootstrap) if bootstrap.resamples else {"resamples": 0}),
        notes,
        intervals={"checks": "value"},
        plots=plots,
        choice=("check", next(iter(plots))) if plots else None,
    )


def _of_comparisons(compared: "DataFrame", about: "DataFrame", own: Mapping[str, str]) -> Checks:
    """Yields the checks of comparisons, as arguments of `_measured`."""
    texts = dict.fromkeys(["rater", "rater_kind", "reason", *ORDERS], object)
    compared = compared.reindex(columns=dict.fromkeys([*compared, *texts])).astype(texts)
    compared = compared.fillna({"rater": "rater", "rater_kind": "human"})
    people = {*compared["rater"][compared["rater_kind"] == "human"]}
    verdicts, pair = _by_pair(compared)
    for side, reply in (("a", "reply_1"), ("b", "reply_2")):
        known = about.reindex(verdicts.get(reply, [None] * len(verdicts)))
        verdicts[[f"words_{side}", f"refuses_{side}"]] = known[["words", "refuses"]].to_numpy()
    for rater, mine in verdicts.groupby("rater"):
        checks = [_wins("length_wins", mine, "words"), _wins("refusal_wins", mine, "refuses"), *_positions(mine)]
        if (system := own.get(rater, "")) in {*mine["a"], *mine["b"]}:
            others = people - {rater} or {*verdicts["rater"]} - {rater}
            checks.append(_self_preference(mine, verdicts[verdicts["rater"].isin(others)], system, pair))
        for each in [*checks, *_failures(mine, mine["outcome"].isna())]:
            yield {"rater": rater, "aspect": None, **each}


def _by_pair(compared: "DataFrame") -> tuple["DataFrame", list[str]]:
    """Returns one verdict for each rater and pair of replies: the mean of both orders, which may be separate rows.

    Returns:
        Rows as of `oriented`, with `ab` and `ba` (the outcomes with one and the other reply first), `asked` (whether
        any is known or failed), and the reason of a missing outcome; and the columns that identify a pair.
    """
    found, pair = oriented(compared)
    lost = found["outcome"] < 0
    found["ab"], found["ba"] = (compared[order].map(SHARES).astype(float) for order in ORDERS[:2])
    found["asked"] = compared[[*ORDERS]].notna().any(axis=1)
    twice = ~found["asked"] & found.duplicated([*pair, "rater"], keep=False)
    for order, shown in (("ab", ~found["turned"]), ("ba", found["turned"])):
        found[order] = found[order].mask(twice & shown, found["outcome"].mask(lost))
    found = found.assign(asked=found["asked"] | twice, reason=compared["reason"].fillna("unknown").where(lost))
    grouped = found.groupby([*pair, "rater"], sort=False)
    firsts = grouped[["ab", "ba", "asked", "reason"]].first()
    return firsts.assign(outcome=grouped["outcome"].mean().mask(grouped["outcome"].min() < 0)).reset_index(), pair


def _wins(check: str, verdicts: "DataFrame", size: str) -> dict[str, Any]:
    """Returns the share of wins of the reply with the larger value."""
    a, b = verdicts[f"{size}_a"], verdicts[f"{size}_b"]
    shares = verdicts["outcome"].where(a > b, 1 - verdicts["outcome"])[a.notna() & b.notna() & (a != b)].dropna()
    missing = len(verdicts) - int((a == b).sum()) - len(shares)
    return _share(check, verdicts.loc[shares.index], shares, baseline=0.5, n_missing=missing)


def _positions(verdicts: "DataFrame") -> Checks:
    """Yields shares of comparisons by their verdicts in both orders."""
    asked = verdicts[verdicts["asked"]]
    used = asked.dropna(subset=["ab", "ba"])
    ab, ba, missing = used["ab"], used["ba"], len(asked) - len(used)
    yield _share("position_flips", used, ab != ba, n_missing=missing)
    yield _share("position_reversals", used, (ab - ba).abs() == 1, n_missing=missing)
    # Shown first are a in one order, and b in the other.
    yield _share("first_position_wins", used, (ab + 1 - ba) / 2, baseline=0.5, n_missing=missing)


def _self_preference(mine: "DataFrame", others: "DataFrame", system: str, pair: list[str]) -> dict[str, Any]:
    """Returns the share of wins of own replies, minus that by others of the same pairs."""
    sides = []
    for verdicts in (mine, others):
        share = verdicts["outcome"].where(verdicts["a"] == system, 1 - verdicts["outcome"])
        sides.append(verdicts.assign(share=share)[(verdicts["a"] == system) != (verdicts["b"] == system)])
    theirs = sides[1].dropna(subset="share").groupby(pair)["share"].agg(["sum", "count"])
    used = sides[0].dropna(subset="share").join(theirs, on=pair, how="inner")
    terms = [used["share"], np.ones(len(used)), used["sum"], used["count"]]
    statistic = partial(_of_sums, _difference, terms)
    return {"check": "self_preference", "rows": used, "statistic": statistic, "n_missing": len(sides[0]) - len(used)}


def _failures(rows: "DataFrame", lost: "Series") -> Checks:
    """Yields the shares of missing judgements, of all and by reason."""
    reasons = rows["reason"].fillna("unknown").where(lost)
    yield _share("failures", rows, lost)
    for failure in sorted(reasons.dropna().unique()):
        yield _share("failures", rows, reasons == failure, failure=failure)


def _of_ratings(rated: "DataFrame", about: "DataFrame", own: Mapping[str, str]) -> Checks:
    """Yields the checks of ratings, as arguments of `_measured`."""
    texts = dict.fromkeys(["reason", "item_id", "system"], object)
    rated = rated.reindex(columns=dict.fromkeys([*rated, *texts])).astype(texts)
    known = about.reindex(rated["reply_id"]).set_index(rated.index)
    named = {column: known[column].fillna(rated[column]) for column in ("item_id", "system")}
    rated = rated.assign(**named, words=known["words"], refuses=known["refuses"])
    graded = checked(rated, needs_systems=False)[0].head(len(rated))  # without the mean of people
    sign = np.where(graded["higher_is_better"], 1.0, -1.0)
    scaled = (graded["value"] - graded["low"]) / (graded["high"] - graded["low"])
    graded = graded.assign(oriented=sign * graded["value"], scaled=scaled, placed=sign * scaled)
    for (rater, aspect), grades in graded.groupby(["rater", "aspect"]):
        others = graded[(graded["aspect"] == aspect) & (graded["rater"] != rater)]
        people = others[others["of_people"]]
        rows = grades.dropna(subset=["words", "oriented"])
        missing: dict[str, Any] = {"rows": rows, "n_missing": len(grades) - len(rows)}
        spearman = partial(_spearman, rows["words"].to_numpy(), rows["oriented"].to_numpy())
        checks = [{"check": "length_correlation", "statistic": spearman, **missing}]
        checks.append(_apart("refusal_difference", rows["refuses"] == 1, rows["oriented"], **missing))
        if (own_replies := grades["system"] == own.get(rater)).any():
            # Both rated each reply, so that the difference of their gaps is the gap of their difference for each reply.
            theirs = (others if people.empty else people).groupby("reply_id")["placed"].mean()
            rows = grades.assign(apart=grades["placed"] - grades["reply_id"].map(theirs)).dropna(subset="apart")
            missing = {"rows": rows, "n_missing": len(grades) - len(rows)}
            checks.append(_apart("self_preference_grades", own_replies[rows.index], rows["apart"], **missing))
        for each in [*checks, *_use_of_scale(grades, people), *_failures(grades, grades["value"].isna())]:
            yield {"rater": rater, "aspect": aspect, **each}


def _use_of_scale(grades: "DataFrame", people: "DataFrame") -> Checks:
    """Yields checks of how much of the scale a rater uses, and people on the same replies."""
    import pandas as pd

    rows = grades.dropna(subset="value")
    same = people[people["value"].notna() & people["reply_id"].isin(rows["reply_id"])]
    given, usual = _evenness(rows), _evenness(same)
    more: dict[str, Any] = {"rows": rows, "n_missing": len(grades) - len(rows)}
    for check, value, baseline in zip(("modal_share", "levels_used", "entropy"), given, usual, strict=True):
        baseline = baseline if math.isfinite(value) else math.nan
        row = {"check": check, "statistic": value, "baseline": baseline, "undefined": "no_levels", **more}
        if check == "modal_share" and math.isfinite(value):  # resamples can only lose grades of the others
            row |= _share(check, rows, rows["value"] == rows["value"].mode().min())
        yield row
    both = pd.concat([rows[rows["reply_id"].isin(same["reply_id"])], same]).dropna(subset="scaled")
    mine = (both["rater"] == rows["rater"].iloc[0]).to_numpy(dtype=float) if len(rows) else np.zeros(0)
    terms = [side * both["scaled"] ** power for side in (mine, 1 - mine) for power in (2, 1, 0)]
    n = int(mine.sum())
    more = {"rows": both, "n": n, "n_missing": len(grades) - n, "undefined": "no_people" if same.empty else "constant"}
    yield {"check": "spread", "statistic": partial(_of_sums, _spread, terms), "baseline": 1.0, **more}


def _evenness(grades: "DataFrame") -> tuple[float, float, float]:
    """Returns the share of the most frequent grade, of the possible grades that occur, and their relative entropy.

    The step of the scale is 1, .5, .25, .1, .05 or .01, the largest of which all grades are multiples. All are nan if
    the scale is unknown, varies, or has too many grades.
    """
    from scipy.stats import entropy

    scales = grades[["low", "high"]].drop_duplicates()
    if len(scales) == 1 and scales.notna().all(axis=None):
        (low, high), counts = scales.iloc[0], grades["value"].value_counts().to_numpy()
        for steps in (1, 2, 4, 10, 20, 100):
            places = (grades["value"] - low) * steps
            possible = round((high - low) * steps) + 1
            if ((places - places.round()).abs() < 1e-6).all() and 2 <= possible <= MOST_LEVELS:
                most = min(1.0, float(entropy(counts)) / math.log(possible))
                return counts.max() / len(grades), len(counts) / possible, most
    return (math.nan,) * 3


def _share(check: str, rows: "DataFrame", shares: "Series", **more: Any) -> dict[str, Any]:
    """Returns the mean of values of rows."""
    terms = [shares.astype(float), np.ones(len(rows))]
    return {"check": check, "rows": rows, "statistic": partial(_of_sums, _ratio, terms), **more}


def _apart(check: str, is_first: "Series", values: "Series", **more: Any) -> dict[str, Any]:
    """Returns the mean of one group of rows minus that of the others."""
    first = is_first.to_numpy(dtype=float)
    terms = [first * values, first, (1 - first) * values, 1 - first]
    return {"check": check, "statistic": partial(_of_sums, _difference, terms), "undefined": "one_group", **more}


def _ratio(sums: Floats) -> Floats:
    return safe_divide(sums[0], sums[1])


def _difference(sums: Floats) -> Floats:
    return _ratio(sums[:2]) - _ratio(sums[2:])


def _spread(sums: Floats) -> Floats:
    """Returns the ratio of two standard deviations, from sums of squares, of values and of ones of both groups."""
    variances = [_ratio(own[[0, 2]]) - _ratio(own[1:]) ** 2 for own in (sums[:3], sums[3:])]
    mine, people = (np.sqrt(np.where(each > 1e-12, each, each * 0)) for each in variances)
    return safe_divide(mine, people)


def _of_sums(of: Statistic, terms: Sequence[Any], item: Ints, n_items: int) -> Statistic:
    """Returns a function of the sums of terms over items, which are weighted."""
    sums = np.array([np.bincount(item, weights=each, minlength=n_items) for each in terms])
    return lambda weights: of(sums @ weights.T)


def _spearman(x: Floats, y: Floats, item: Ints, n_items: int) -> Statistic:
    """Returns a function of weights of items, with ranks of its own for each resample."""
    coefficient = Weighted(x[None], y[None], item, n_items, [(0, 0)], ["spearman"])

    def of(weights: Floats) -> Floats:
        blocks = [weights[at : at + BLOCK].T for at in range(0, len(weights), BLOCK)]
        return np.concatenate([coefficient(np.ascontiguousarray(each))["spearman"][0] for each in blocks])

    return of


def _measured(found: Sequence[Mapping[str, Any]], bootstrap: Bootstrap) -> "DataFrame":
    """Returns the rows of the result, with the same draws of items for all checks.

    Args:
        found: Checks, each with `rater`, `aspect`, `check`, `rows` (the judgements, with `item_id`) and `statistic`:
            a function of items and their number that returns a `Statistic`, or a value without an interval; and
            optionally with `failure`, `baseline`, `n_missing`, `n`, and `undefined` (the reason of a missing value).
        bootstrap: Resamples.
    """
    import pandas as pd

    items = pd.Index(pd.concat([each["rows"]["item_id"] for each in found]).unique())
    values: list[Any] = [each["statistic"] for each in found]
    drawn: dict[int, tuple[Any, list[Floats]]] = {}
    for place, each in enumerate(found):
        if callable(values[place]):
            of = values[place](items.get_indexer(each["rows"]["item_id"]), len(items)) if len(each["rows"]) else None
            values[place] = float(of(np.ones((1, len(items))))[0]) if of else math.nan
            if of and math.isfinite(values[place]) and each["rows"]["item_id"].nunique() > 1:
                drawn[place] = (of, [])
    for weights in draws(len(items), bootstrap.resamples, bootstrap.seed):
        for of, parts in drawn.values():
            parts.append(of(weights))
    table = []
    for place, (each, value) in enumerate(zip(found, values, strict=True)):
        more = {
            "failure": None,
            "baseline": 0.0,
            "n": len(each["rows"]),
            "n_missing": 0,
            "undefined": "constant",
            **each,
        }
        low: Any = math.nan
        high: Any = math.nan
        if place in drawn and bootstrap.resamples:
            low, high = percentile_interval(np.concatenate(drawn[place][1]), bootstrap.confidence)
        ends = {"low": low, "high": high} if high - low > TINY else {"low": math.nan, "high": math.nan}
        reason = "no_rows" if more["n"] == 0 and more["undefined"] != "no_people" else more["undefined"]
        names = {name: more[name] for name in ("rater", "aspect", "check", "failure")}
        numbers = {"value": value, **ends, **{name: more[name] for name in ("baseline", "n", "n_missing")}}
        table.append({**names, **numbers, "reason": None if math.isfinite(value) else reason})
    return pd.DataFrame(table)
