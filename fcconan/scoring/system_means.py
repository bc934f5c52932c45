"""Ratings of replies: means of systems, the unified score, and estimates from few ratings by people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.data import RATER_KINDS, UNKNOWN, check_names, rows_of
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.scoring.intervals import few_items, safe_divide
from fcconan.scoring.paired_tests import difference_table, family, mean_intervals
from fcconan.scoring.powered import Sample, estimate, summarise

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PEOPLE, UNIFIED = "people", "unified"
SHIFTED = 4.0  # standard errors


def rank_ratings(
    ratings: "DataFrame",
    raters: tuple[str, ...],
    aspects: tuple[str, ...],
    baseline: tuple[str, ...],
    judge: str | None,
    bootstrap: Bootstrap,
) -> tuple[dict[str, "DataFrame"], list[str]]:
    """Returns the tables and notes of `fcconan.rank` for ratings.

    Args:
        ratings: The rows.
        raters: The raters that count; empty for people and all others.
        aspects: The aspects; empty for those that people rated on a scale.
        baseline: Systems that all others are tested against; empty for all pairs.
        judge: Rater whose ratings predict those of people.
        bootstrap: Resamples.

    Raises:
        InputError: A row is invalid, or a rater, aspect or baseline is unknown.
    """
    import pandas as pd

    ratings, notes = checked(ratings)
    known = [*ratings["rater"].unique()]
    others = [*ratings["rater"][~ratings["of_people"]].unique()]
    raters = check_names("rater", raters or [name for name in (PEOPLE, *others) if name in known], known)
    aspects = check_names("aspect", aspects, [*ratings["aspect"].unique()])
    scaled = ratings[ratings["low"].notna() & (ratings["rater"].eq(PEOPLE) | (PEOPLE not in known))]
    chosen = [*(aspects or scaled["aspect"].unique())]
    series = [each for name in raters for each in series_of(ratings, name, chosen, only=bool(aspects))]
    if not series:
        raise InputError(f"none of {', '.join(raters)} rated {', '.join(chosen)}: choose others")
    about = ratings.drop_duplicates("reply_id").set_index("reply_id")[["system", "item_id"]]
    names, system = np.unique(about["system"].to_numpy(dtype=str), return_inverse=True)
    items, item = np.unique(about["item_id"].to_numpy(dtype=str), return_inverse=True)
    values = np.stack([own.reindex(about.index).to_numpy() for *_, own in series])
    sums, counts = np.zeros((2, len(series), len(names), len(items)))
    which, there = np.nonzero(np.isfinite(values))
    np.add.at(sums, (which, system[there], item[there]), values[which, there])
    np.add.at(counts, (which, system[there], item[there]), 1.0)
    n = counts.sum(axis=2).astype(int)
    low, high = mean_intervals(sums, counts, bootstrap)
    columns = {"value": safe_divide(sums.sum(axis=2), n), "low": low, "high": high, "n": n}
    columns["n_missing"] = np.bincount(system) - n
    parts: list[DataFrame] = []
    for place, (name, aspect, is_better, _) in enumerate(series):
        part = pd.DataFrame({"rater": name, "aspect": aspect, "system": names})
        part = part.assign(**{key: found[place] for key, found in columns.items()}, higher_is_better=is_better)
        parts.append(part.sort_values("value", ascending=not is_better, kind="stable"))
    order = parts[0].index  # pairs are in the order of the first table: a is better than b there
    systems, means = names[order].tolist(), safe_divide(sums, counts)[:, order]
    pairs = family(systems, baseline)
    apart = means[:, [a for a, _ in pairs]] - means[:, [b for _, b in pairs]]
    measures = [{"rater": name, "aspect": aspect} for name, aspect, *_ in series]
    tables = {"systems": pd.concat(parts, ignore_index=True)}
    tables["differences"] = difference_table(measures, apart, systems, pairs, bootstrap)
    common, answered = np.isfinite(apart[0]).sum(axis=1), np.isfinite(means[0]).sum(axis=1)
    if any(2 * n < min(answered[a], answered[b]) for n, (a, b) in zip(common, pairs, strict=True)):
        notes.append(
            f"Differences rest on the items that both systems answer, {common.min()} to {common.max()} of "
            f"{len(items)}: their signs may differ from those of the means."
        )
    if judge is not None:
        tables["predicted"] = predicted = _predicted(ratings, judge, series, about, systems, pairs, bootstrap)
        if shifted := [*predicted["a"][predicted["b"].isna() & (predicted["shift"].abs() > SHIFTED)].unique()]:
            notes.append(
                f"{judge} rates the replies that people rated and all replies differently, by more than {SHIFTED:g} "
                f"standard errors ({', '.join(shifted[:5])}): the rated replies are hardly a random selection."
            )
    return tables, notes + few_items(len(items), bootstrap)


def checked(ratings: "DataFrame", *, needs_systems: bool = True) -> tuple["DataFrame", list[str]]:
    """Returns ratings of replies of known systems, with the mean of all people as a further rater, and notes.

    Args:
        ratings: The ratings.
        needs_systems: Whether ratings of replies of unknown systems are left out; otherwise their system is `unknown`.

    Returns:
        Rows with `reply_id`, `item_id`, `system`, `rater`, `aspect`, `value`, `low`, `high`, `higher_is_better`, and
        `of_people` (whether the rater is a person, or people).

    Raises:
        InputError: The systems are unknown, a value is out of scale, a reply was rated twice, or scales differ.
    """
    import pandas as pd

    if needs_systems and ("system" not in ratings or ratings["system"].fillna(UNKNOWN).eq(UNKNOWN).all()):
        raise InputError("the systems of the replies are unknown: give the replies by --replies, or a column system")
    # Item and system are those of the same reply in other rows: a dataset and a file of ratings may be read together.
    about = ratings.reindex(columns=["item_id", "system"]).astype(object)
    found = ratings.assign(**about.fillna(about.groupby(ratings["reply_id"]).transform("first")))
    found["item_id"] = found["item_id"].fillna(found["reply_id"])
    for column in ("higher_is_better", "rater_kind"):
        found[column] = found.get(column)
    for column in ("low", "high", "selection_probability"):
        found[column] = pd.Series(found.get(column), found.index, dtype=float)
    unknown = found["higher_is_better"].isna()
    better = found["higher_is_better"].map(lambda cell: str(cell).strip().lower())
    found["higher_is_better"] = ~better.isin(["false", "no", "0", "0.0"])
    kinds = found["rater_kind"].fillna("human")
    found["of_people"] = kinds == "human"
    reused = found.groupby("reply_id")[["system", "item_id"]].nunique().gt(1).any(axis=1)
    chances = found["selection_probability"]
    for wrong, what in (
        (~kinds.isin(RATER_KINDS), f"another rater_kind than {', '.join(RATER_KINDS)}"),
        (found["reply_id"].map(reused).eq(True), "one reply_id for two systems or items"),
        ((chances <= 0) | (chances > 1), "a selection_probability of 0 or less, or above 1"),
        (found["rater"].eq(PEOPLE) & (found["of_people"] & found["rater"].ne(PEOPLE)).any(), "a rater named people"),
    ):
        if wrong.any():
            at = rows_of(found, wrong)
            raise InputError(f"{at}: found {what}, such as {found['reply_id'][wrong].iloc[0]}: correct the rows")
    key = ["rater", "aspect", "reply_id"]
    if (twice := found.duplicated(key)).any():
        row = found[twice].iloc[0]
        at = rows_of(found, found[key].eq(row[key]).all(axis=1))
        raise InputError(f"{at}: {row['rater']} rated {row['aspect']} of the reply {row['reply_id']} twice: remove one")
    out = (found["value"] < found["low"]) | (found["value"] > found["high"])
    if out.any():
        row = found[out].iloc[0]
        raise InputError(
            f"{rows_of(found, out)}: {row['rater']} rated {row['aspect']} of the reply {row['reply_id']} "
            f"{row['value']:g}, expected {row['low']:g} to {row['high']:g}: leave the value empty and give the reason "
            "out_of_scale"
        )
    found["system"], notes = found["system"].fillna(UNKNOWN), []
    lost = found["system"].eq(UNKNOWN) & needs_systems
    if lost.any():
        notes.append(f"Ratings of replies of no known system are left out: {lost.sum()} of {len(found)}.")
    found = found[~lost]
    if missing := int(found["value"].isna().sum()):
        notes.append(f"{missing} of {len(found)} ratings have no value and are left out.")
    if assumed := [*found["aspect"][unknown[~lost] & found["low"].notna()].unique()]:
        notes.append(f"higher_is_better is not stated for {', '.join(assumed[:5])}: high values count as good.")
    people = found[found["of_people"] & (found["rater"] != PEOPLE)]
    scales = found.assign(rater=found["rater"].mask(found["of_people"], PEOPLE)).groupby(["rater", "aspect"])
    for column in ("low", "high", "higher_is_better"):
        if (several := scales[column].nunique() > 1).any():
            rater, aspect = several[several].index[0]
            raise InputError(
                f"ratings of {aspect} by {rater} differ in {column}: bring them to one scale, or filter by rater"
            )
    mean = people.groupby(["aspect", "reply_id"], sort=False).agg({**dict.fromkeys(_CARRIED, "first"), "value": "mean"})
    return pd.concat([found, mean.reset_index().assign(rater=PEOPLE, of_people=True)], ignore_index=True), notes


_CARRIED = ("item_id", "system", "low", "high", "higher_is_better", "selection_probability")
_Series = tuple[str, str, bool, "Series"]  # rater, aspect, whether a high value is good, values by reply


def series_of(ratings: "DataFrame", name: str, aspects: Sequence[str], *, only: bool) -> list[_Series]:
    """Returns the values of a rater, the unified score first; other aspects only if it rated none of the given ones.

    Args:
        ratings: The ratings.
        name: The rater.
        aspects: The aspects.
        only: Whether the user chose them.
    """
    by_aspect = dict([*ratings[ratings["rater"] == name].groupby("aspect", sort=False)])
    own = [aspect for aspect in aspects if aspect in by_aspect] or ([] if only else [*by_aspect])
    found: list[_Series] = []
    total: Any = 0.0
    for aspect in own:
        values, one = by_aspect[aspect].set_index("reply_id")["value"].astype(float), by_aspect[aspect].iloc[0]
        found.append((name, aspect, bool(one["higher_is_better"]), values))
        low, high = by_aspect[aspect]["low"].min(), by_aspect[aspect]["high"].max()
        share = (values - low) / (high - low)
        total = (share if one["higher_is_better"] else 1 - share).mul(4.0).add(1.0).add(total)
    if own == [*aspects] and len(own) > 1 and total.notna().any():
        found.insert(0, (name, UNIFIED, True, total / len(own)))
    return found


def _predicted(
    ratings: "DataFrame",
    judge: str,
    series: list[_Series],
    about: "DataFrame",
    systems: list[str],
    pairs: list[tuple[int, int]],
    bootstrap: Bootstrap,
) -> "DataFrame":
    """Returns means and differences of systems from people's ratings of some replies and a judge's of all."""
    import pandas as pd

    people = [each for each in series if each[0] == PEOPLE]
    if not people:  # the user chose other raters, or there are none
        people = series_of(ratings, PEOPLE, [*dict.fromkeys(aspect for _, aspect, *_ in series)], only=False)
    if not people:
        raise InputError("found no ratings by people, expected some for --predicted-by: give rows of rater_kind human")
    check_names("rater", [judge], ratings["rater"][~ratings["of_people"]].unique())
    aspects = [aspect for _, aspect, *_ in people if aspect != UNIFIED]
    judged = {aspect: values for _, aspect, *values in series_of(ratings, judge, aspects, only=False)}
    if len(judged) == 1 and not judged.keys() & {*aspects}:
        judged = dict.fromkeys([aspect for _, aspect, *_ in people], *judged.values())  # it predicts every aspect
    item, items = pd.factorize(about["item_id"])
    chances = ratings.groupby("reply_id")["selection_probability"].first().reindex(about.index)
    if chances.notna().any() and (lost := chances[people[-1][3].dropna().index].isna().sum()):
        raise InputError(f"{lost} replies that people rated lack a selection_probability: state it for all of them")
    chances = chances.fillna(1.0).to_numpy()
    found = []
    for _, aspect, is_better, values in people:
        if aspect not in judged:
            continue
        same, predictions = judged[aspect]
        graded = values.reindex(about.index).to_numpy()
        predictions = predictions.reindex(about.index).to_numpy() * (1 if same == is_better else -1)
        samples = [
            summarise(graded[own], predictions[own], item[own], len(items), chances[own])
            for own in (about["system"] == name for name in systems)
        ]
        wanted: list[tuple[str, str | None, Sample | None]] = [
            (name, None, sample) for name, sample in zip(systems, samples, strict=True)
        ]
        for a, b in pairs:
            one, other = samples[a], samples[b]
            wanted.append((systems[a], systems[b], one.minus(other) if one and other else None))
        for first, second, sample in wanted:
            known = {"reason": "not_rated"} if sample is None else estimate(sample, bootstrap.confidence)
            found.append({"aspect": aspect, "a": first, "b": second, **known})
    return pd.DataFrame(found)
