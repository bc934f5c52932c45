"""`agree`: agreement of raters on ratings, verdicts or labels."""

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fcconan.data import JUDGEMENT, RowSource, cell_text, check_names, is_missing, read, rows_of
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Rows
from fcconan.report import forest
from fcconan.result import Pivot, Result
from fcconan.scoring.intervals import means
from fcconan.scoring.reliability import COEFFICIENTS, measure_agreement
from fcconan.scoring.verdicts import canonical

if TYPE_CHECKING:
    from pandas import DataFrame

NOMINAL = ("raw", "cohen", "krippendorff_nominal")  # for values without an order
KINDS = (["human"], ["human", "model"])  # raters that count by default, if there are two of them


def agree(
    *sources: RowSource,
    kind: Literal["ratings", "comparisons", "votes"] | None = None,
    rater: tuple[str, ...] = (),
    aspect: tuple[str, ...] = (),
    coefficient: tuple[
        Literal[
            "raw",
            "cohen",
            "cohen_linear",
            "cohen_quadratic",
            "krippendorff_nominal",
            "krippendorff_ordinal",
            "krippendorff_interval",
        ],
        ...,
    ] = (),
    rows: Rows = Rows(),
    bootstrap: Bootstrap = Bootstrap(),
) -> Result:
    """Measure the agreement of raters on ratings, verdicts or labels.

    A unit (a reply, a pair of replies, a labelled pair) counts if at least two raters rated it. Percent agreement
    (`raw`) is the share of equal values among all pairs of values of a unit. Cohen's kappas (1960; weighted by
    distances: 1968) of several raters are means over pairs of raters (Light, 1971). Krippendorff's alpha (2011) is
    nominal, ordinal or interval. Intervals resample the items with all their units.

    Ratings have the columns reply_id, rater, aspect and value, or one column for each aspect; item_id, low, high and
    rater_kind (human, model or metric) are optional. Verdicts have item_id, system_a, system_b, verdict and rater.
    Votes have pair_id, rater and label. Verdicts of one rater in both orders count once: as a tie if they disagree.

    Args:
        sources: Files, dataset folders, names of datasets, or the folder of an annotation campaign, whose round is
            chosen with `--split`.
        kind: Kind of rows of a dataset that has several; default: votes, else comparisons.
        rater: Raters to compare; default: people, if there are two or more.
        aspect: Aspects of ratings; default: all.
        coefficient: Coefficients; default: all for ratings, without the ordered ones for verdicts and votes.
        rows: Which rows are read.
        bootstrap: Resamples.

    Returns:
        `agreement` of all raters: one row for each aspect and coefficient, with `value`, `low`, `high`, `n` (units),
        `n_items`, and the `reason` of a missing value. `pairs`: the same for each pair of raters `a` and `b`.
        `disputed`: units with different values, the mean difference of two raters first. Of a
        campaign also `raters`, with `gold_accuracy` and `median_seconds`; gold questions count only there.

    Raises:
        InputError: A source cannot be read, there are fewer than two raters, a name is unknown, or a coefficient does
            not fit the values.

    Examples:
        >>> given = {"anna": "yyyn", "ben": "yynn"}
        >>> votes = [
        ...     {"pair_id": f"hs{n}:cn{n}", "rater": rater, "label": label}
        ...     for rater, labels in given.items()
        ...     for n, label in enumerate(labels)
        ... ]
        >>> found = agree(votes, bootstrap=Bootstrap(resamples=0)).to_frame()
        >>> found[["coefficient", "value", "n"]].values.tolist()[:2]
        [['raw', 0.75, 4], ['cohen', 0.5, 4]]
    """
    import pandas as pd

    table, found, name = read(kind or ("votes", "comparisons", "ratings"), *sources, rows=rows)
    table = table.assign(rater=table.get("rater", pd.Series(dtype=object)).reindex(table.index).fillna("rater"))
    given = table[table["known"].isna()] if "known" in table else table
    kinds = given.get("rater_kind", pd.Series(dtype=object)).reindex(given.index).fillna("human")
    panels = [[*given["rater"][kinds.isin(wanted)].unique()] for wanted in KINDS]
    everybody = [*given["rater"].unique()]
    chosen = check_names("rater", rater or next((each for each in panels if len(each) > 1), everybody), everybody)
    given = given[given["rater"].isin(chosen)]
    values = _values(found, given)
    if len(raters := sorted(values["rater"].unique())) < 2:
        given_by = ", ".join(raters) or "no rater"
        raise InputError(f"found values of {given_by}, expected two raters or more in the column rater: add rows")
    aspects = check_names("aspect", aspect, [*values["aspect"].dropna().unique()]) or values["aspect"].unique()
    fitting = tuple(COEFFICIENTS) if found == "ratings" else NOMINAL
    coefficients = check_names(f"coefficient of {found}", coefficient, fitting) or fitting
    notes = []
    judged = given[given["aspect"].isin(aspects)] if aspect else given
    lost = judged[JUDGEMENT[found]].map(lambda cell: is_missing(cell) or str(cell).strip().lower() == "invalid")
    if lost.any():
        notes.append(f"{lost.sum()} of {len(judged)} {found} have no value and are left out.")
    if values["item"].isna().any():
        notes.append("The items of some units are unknown: intervals take these units as independent.")
    measured, disputed = [], []
    for each in aspects:
        own = values[values["aspect"].eq(each) | pd.isna(each)]
        matrix = own.pivot(index="rater", columns="unit", values="value")
        item = own.groupby("unit")["item"].first().fillna({unit: unit for unit in matrix.columns})
        rows_of = measure_agreement(
            matrix, items=item, raters=matrix.index, coefficients=coefficients, bootstrap=bootstrap
        )
        measured.append(rows_of.assign(aspect=each))
        disputed.append(_disputed(own, matrix, nominal=found != "ratings").assign(aspect=each))
    every = pd.concat(measured, ignore_index=True)[["aspect", *measured[0].columns[:-1]]]
    overall, pairs = every[every["a"].isna()].drop(columns=["a", "b"]), every[every["a"].notna()]
    tables = {"agreement": overall, "pairs": pairs}
    tables["disputed"] = pd.concat(disputed, ignore_index=True)[["aspect", *disputed[0].columns[:-1]]]
    if "known" in table:
        tables["raters"] = gold_and_time(table, table[JUDGEMENT[found]])
    identity = {
        "data": name,
        "kind": found,
        "raters": ",".join(raters),
        "aspects": ",".join(aspects) if aspect else None,
    }
    label = overall["aspect"] + " " + overall["coefficient"] if len(aspects) > 1 else overall["coefficient"]
    return Result(
        "agree",
        tables,
        identity | (vars(bootstrap) if bootstrap.resamples else {"resamples": 0}),
        notes,
        intervals={"agreement": "value", "pairs": "value"},
        pivots={"agreement": Pivot(("coefficient",), ("aspect",))} if len(aspects) > 1 else {},
        plots={"Agreement of all raters": partial(forest, overall.assign(label=label), label="label")},
    )


def _values(kind: str, table: "DataFrame") -> "DataFrame":
    """Returns rows with `aspect`, `unit`, `item` (None if unknown), `rater`, `value` (labels as numbers) and `answer`.

    Raises:
        InputError: A value is out of its scale, scales differ, or a rater contradicts itself.
    """
    import pandas as pd

    if kind == "comparisons":
        verdicts, pair = canonical(table)
        first = verdicts.groupby(pair, sort=False, dropna=False)["turned"].transform("first")
        value = verdicts["outcome"].where(~first, 1 - verdicts["outcome"])
        a, b = verdicts["a"].where(~first, verdicts["b"]), verdicts["b"].where(~first, verdicts["a"])
        unit = a.str.cat([b, *(verdicts[key].astype(str) for key in ("item_id", *pair[3:]))], sep=" ")
        found = verdicts[["rater"]].assign(unit=unit, item=verdicts["item_id"], value=value, aspect=None)
        return found.assign(answer=value.map({1.0: "a", 0.5: "tie", 0.0: "b"})).dropna(subset="value")
    if kind == "votes":
        answer = table["label"].map(lambda cell: None if is_missing(cell) else cell_text(cell))
        code = pd.Series(pd.factorize(answer)[0], table.index, dtype=float)
        found = table.assign(unit=table["pair_id"], value=code.where(code >= 0), answer=answer, aspect=None)
        found["item"] = table.get("item_id", table["pair_id"].str.extract("^([^:]+):[^:]+$")[0])  # HS:CN
    else:
        scales = table.reindex(columns=["low", "high"])
        if (out := (table["value"] < scales["low"]) | (table["value"] > scales["high"])).any():
            row = table[out].iloc[0]
            raise InputError(
                f"{rows_of(table, out)}: {row['rater']} rated {row['aspect']} of {row['reply_id']} {row['value']:g}, "
                f"expected {row['low']:g} to {row['high']:g}: correct the value, or leave it empty"
            )
        several = scales.groupby(table["aspect"]).nunique().gt(1).any(axis=1)
        if several.any():
            raise InputError(
                f"{several.idxmax()} was rated on several scales: bring the ratings to one, or filter them"
            )
        found = table.assign(unit=table["reply_id"], answer=table["value"].map("{:g}".format))
        known = table.get("item_id", pd.Series(index=table.index, dtype=object))
        found["item"] = known.fillna(known.groupby(table["reply_id"]).transform("first"))
    found = found[["aspect", "unit", "item", "rater", "value", "answer"]].dropna(subset="value").drop_duplicates()
    key = ["aspect", "unit", "rater"]
    if (twice := found.duplicated(key)).any():
        row = found[twice].iloc[0]
        at = rows_of(found, found[key].fillna("").eq(row[key].fillna("")).all(axis=1))
        raise InputError(f"{at}: {row['rater']} rated {row['unit']} twice, with different values: remove one of them")
    return found


def _disputed(values: "DataFrame", matrix: "DataFrame", *, nominal: bool) -> "DataFrame":
    """Returns the units with different values, by decreasing mean difference of two raters.

    Args:
        values: The values.
        matrix: The same, raters by units.
        nominal: Whether all differences count 1.
    """
    import pandas as pd

    table = matrix.to_numpy()
    apart: Any = np.abs([table[a] - table[b] for a, b in combinations(range(len(table)), 2)] or table[:1] * np.nan)
    disagreement = pd.Series(means(np.sign(apart) if nominal else apart, axis=0), matrix.columns)
    found = disagreement[disagreement > 0].sort_values(ascending=False, kind="stable")
    said = (values["rater"] + ": " + values["answer"]).groupby(values["unit"])
    columns = {"disagreement": found, "n": said.size().reindex(found.index), "values": said.agg(", ".join)}
    return pd.DataFrame({**columns, "values": columns["values"].reindex(found.index)}).rename_axis("unit").reset_index()


def gold_and_time(table: "DataFrame", answer: "DataFrame") -> "DataFrame":
    """Returns numbers of answers, the share of right answers to gold questions, and the median time for a unit.

    Args:
        table: Answers, with `rater`, `reply_id` or `pair_id`, `known` (the right answer to a gold question) and
            `seconds`.
        answer: Label or grade of each row.
    """
    asked = table["known"].notna() & answer.notna()
    about = table[["rater"]].assign(there=answer.notna(), lost=answer.isna(), gold=asked)
    found = about.groupby("rater").sum().set_axis(["n", "n_missing", "n_gold"], axis=1)
    found["gold_accuracy"] = (answer == table["known"])[asked].groupby(table["rater"]).mean()
    # Tools record one time for a unit, with each of its answers.
    unit = "reply_id" if "reply_id" in table else "pair_id"
    found["median_seconds"] = table.groupby(["rater", unit])["seconds"].max().groupby("rater").median()
    return found.reset_index()
