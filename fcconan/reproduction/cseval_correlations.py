"""Tables 1, 5 and 6 of CSEval: how metrics and judges follow people's scores.

The 6526 rows behind the printed figures are not released. One file has 1901 rows, likely some of these; 904 have
the classic metrics. The rule is that of the authors' own figures for the first 1000 rows, which it reproduces: all rows
are pooled, people's 0 is kept, and a judge's failure, -1, becomes 3 for two aspects and stays for the other two.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from fcconan.building import load_recipe, read_csv
from fcconan.data import fetch
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Key, Value
from fcconan.scoring import KENDALL_B, POOLED, SPEARMAN, Flags, Floats, RatedReplies, ScoreTable, correlate, stability

PAPER = "cseval"
ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
COEFFICIENTS = {"spearman": SPEARMAN, "kendall": KENDALL_B}
FAILED, REPLACED = -1.0, 3.0
IMPUTED = ("aggressiveness", "suitableness")
IN_ROUNDS = 1500  # the rows of the file that the agreement rounds rated come first
DELTA = "gpt-4-minus-best-other"
GAIN = "mean-gain-over-best-traditional-metric"
BY_GPT_4 = ("gpt-4", "gpt-4-zs", "g-eval-gpt-4")
# The authors averaged toxicity over these two only.
AVERAGED = {"toxicity": ("aggressiveness", "suitableness")}
TRADITIONAL = ("bleu-1", "rouge-l", "meteor", "bertscore", "toxicity", "bartscore")
Found = dict[tuple[str, str, str], float]  # metric, aspect, coefficient of the paper


def released() -> ScoreTable:
    """Returns the scores of the released file as the authors correlated them; items and systems are left out.

    The dataset has neither the numbers that are off their scale nor the failures, so the file itself is read.

    Raises:
        InputError: The file is not to be had.
    """
    recipe = load_recipe("cseval")
    source = recipe.sources["test"]
    path = fetch(source, folder=recipe.folder, terms=recipe.card.terms)
    assert path is not None  # it is not optional
    known = load_paper(PAPER).names["results_files"]
    judges = [rater for rater in recipe.raters if rater.source == "test" and rater.name in known]
    columns = [(rater, aspect, column) for rater in judges for aspect, column in rater.column_of([*ASPECTS]).items()]
    mapped = {aspect: source.columns[aspect] for aspect in ASPECTS} | {column: column for _, _, column in columns}
    rows = read_csv(path, source.model_copy(update={"columns": mapped, "ignore": ["*"]}))

    def numbers(column: str) -> Floats:
        found = [row.number(column) for row in rows]
        return np.array([np.nan if value is None else value for value in found])

    values = []
    for rater, aspect, column in columns:
        own = numbers(column)
        if rater.kind == "model" and aspect in IMPUTED:
            own[own == FAILED] = REPLACED
        values.append(own)
    return ScoreTable(
        metrics=tuple(rater.name for rater, _, _ in columns),
        aspects=ASPECTS,
        metric_values=np.stack(values),
        human_values=np.stack([numbers(aspect) for aspect in ASPECTS]),
        items=range(len(rows)),
        systems=["unknown"] * len(rows),
        about=tuple(aspect if aspect in ASPECTS else None for _, aspect, _ in columns),
    )


def pooled(table: ScoreTable) -> Found:
    """Correlates every metric with every aspect over all rows, and adds the averages under the aspect `average`."""
    names = {ours: theirs for theirs, ours in COEFFICIENTS.items()}
    rows = correlate(table, levels=(POOLED,), coefficients=tuple(names), resamples=0)
    found = {
        (row.metric, row.aspect, names[row.coefficient]): np.nan if row.value is None else row.value for row in rows
    }
    return found | averages(found)


def averages(found: Found) -> Found:
    """Averages coefficients over the aspects, under the aspect `average`."""
    return {
        (metric, "average", name): float(
            np.mean([found[metric, aspect, name] for aspect in AVERAGED.get(metric, ASPECTS)])
        )
        for metric, name in dict.fromkeys((metric, name) for metric, _, name in found)
    }


def rows_behind_table_1(data: Datasets) -> int:
    """Returns the number of rows that the authors' t statistics speak of: t = r * sqrt((n - 2) / (1 - r**2)).

    Raises:
        InputError: The file is not to be had.
    """
    key = "spearman_suitableness"
    rows = read_csv(data.source(PAPER, key), load_paper(PAPER).sources[key])
    (row,) = (row for row in rows if row["metric"] == "gpt-4_suitableness_score")
    r, t = row.number("coefficient"), row.number("t")
    assert r is not None and t is not None
    return round(2 + t**2 * (1 - r**2) / r**2)


def table_1(data: Datasets, table: ScoreTable) -> Iterator[tuple[Key, Value]]:
    """Yields the cells of Table 1 that have a value, each with the rows behind it."""
    found, of_all = pooled(table), rows_behind_table_1(data)
    raters = {*table.metrics, "annotators"}
    ratings = [row for row in data.rows("cseval", "ratings") if row["rater"] in raters]
    sound = pooled(RatedReplies(ratings, data.rows("cseval", "replies")).table())
    early = np.arange(len(table.items)) < IN_ROUNDS
    parts = [pooled(_some(table, rows, BY_GPT_4)) for rows in (early, ~early)]
    n = {metric: int(np.isfinite(own).sum()) for metric, own in zip(table.metrics, table.metric_values, strict=True)}
    complete: Flags = np.isfinite(table.metric_values.sum(axis=0))
    partial = {metric for metric, own in n.items() if own > complete.sum()}
    of_complete = found | pooled(_some(table, complete, partial))
    paper = load_paper(PAPER)
    keys = [(row, column) for row, cells in paper.printed("Table 1").items() for column in cells]
    for row, column in keys:
        if paper.table("Table 1").reason(row) is not None:
            continue
        aspect, name = column.split("/")
        key = (row, aspect, name)
        if row == DELTA:
            best, highest = _best_other(of_complete, aspect, name)
            note = (
                f"{complete.sum()} released rows with all scores instead of {of_all}; best other {best} {highest:.3f}"
            )
            value = of_complete["gpt-4", aspect, name] - highest
            yield ("Table 1", row, column), Value(value, note, by_chance=True)
            continue
        note = f"{n[row]} released rows instead of {of_all}; zeros and failures left out {sound[key]:.3f}"
        if aspect == "average" and row in AVERAGED:
            note = f"mean of {' and '.join(AVERAGED[row])} alone; {note}"
        if row in BY_GPT_4:
            note += f"; first {IN_ROUNDS} rows of the file {parts[0][key]:.3f}, others {parts[1][key]:.3f}"
            note += " (where people's and GPT-4's scores are not independent)" if row != "gpt-4-zs" else ""
        yield ("Table 1", row, column), Value(found[key], note, by_chance=True)


def _some(table: ScoreTable, rows: Flags, metrics: Iterable[str]) -> ScoreTable:
    """Returns some rows and metrics of a table."""
    names = set(metrics)
    wanted = [position for position, metric in enumerate(table.metrics) if metric in names]
    return table.select(wanted, np.flatnonzero(rows).tolist())


def _best_other(found: Found, aspect: str, name: str) -> tuple[str, float]:
    others = {metric: value for (metric, *of), value in found.items() if of == [aspect, name] and metric != "gpt-4"}
    return max(others.items(), key=lambda item: item[1])


def table_5(data: Datasets, table: ScoreTable) -> Iterator[tuple[Key, Value]]:
    """Yields the cells of Table 5: mean and standard deviation over random samples."""
    everything, of_all = np.full(len(table.items), True), rows_behind_table_1(data)
    metrics = load_paper(PAPER).table("Table 5").rows
    for row in stability(_some(table, everything, metrics), coefficients=(SPEARMAN,), seeds=(1, 2, 3)):
        sizes = ", ".join(map(str, row.sizes))
        n = np.isfinite(table.metric_values[table.metrics.index(row.metric)]).sum()
        note = f"{row.n_trials} samples of {sizes} of {n} rows instead of 39 of up to 6100 of {of_all}; other draws"
        for name, value in (("mean", row.mean), ("std", row.standard_deviation)):
            yield ("Table 5", row.metric, f"{row.aspect}/{name}"), Value(value, note, by_chance=True)


def table_6() -> dict[Key, Value]:
    """Computes Table 6 and the gain of Appendix D from the printed means of Table 5."""
    paper = load_paper(PAPER)
    means = {
        (row, column.removesuffix("/mean")): printed.value
        for row, cells in paper.figures("Table 5").items()
        for column, printed in cells.items()
    }
    note = "means of Table 5"
    cells: dict[Key, Value] = {}
    for aspect in ASPECTS:
        own = means["gpt-4", aspect]
        for row, others in (("best-traditional-metric", TRADITIONAL), ("best-method", ("gpt-4-zs", "g-eval-gpt-4"))):
            best = max(others, key=lambda metric: means[metric, aspect])
            cells["Table 6", row, aspect] = Value(
                own - means[best, aspect], f"{note}; best other {best}", from_print=True
            )
    gains = [cells["Table 6", "best-traditional-metric", aspect].value or 0.0 for aspect in ASPECTS]
    gain = Value(float(np.mean(gains)), "mean of the first row of Table 6", from_print=True)
    return cells | {("text D", GAIN, "value"): gain}
