"""Tables 1, 5 and 6 of CSEval: correlations of metrics and judges with the human scores.

The 6526 rows behind the printed values are not released. One file has 1901 rows, which are likely a part of them; 904
of these have scores of the classic metrics.

The authors released correlations for the first 1000 rows. The method here reproduces them:

- all rows are pooled,
- human scores of 0 are included,
- a failed judgement, -1, becomes 3 for aggressiveness and suitableness, and remains -1 for the other aspects.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from fcconan.building import load_recipe, numbers, read_csv
from fcconan.data import fetch, read
from fcconan.groups import Bootstrap
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Key, RecomputedValue
from fcconan.scoring import Flags, Scores, checked, correlations, scores_of, stability

PAPER = "cseval"
ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
COEFFICIENTS = {"spearman": "spearman", "kendall": "kendall_b"}
FAILED, REPLACED = -1.0, 3.0
IMPUTED = ("aggressiveness", "suitableness")
N_FROM_ROUNDS = 1500  # the file begins with the rows of the agreement rounds
DELTA = "gpt-4-minus-best-other"
GAIN = "mean-gain-over-best-traditional-metric"
BY_GPT_4 = ("gpt-4", "gpt-4-zs", "g-eval-gpt-4")
# The paper averages toxicity over these two aspects only.
AVERAGED = {"toxicity": ("aggressiveness", "suitableness")}
TRADITIONAL = ("bleu-1", "rouge-l", "meteor", "bertscore", "toxicity", "bartscore")
Coefficients = dict[tuple[str, str, str], float]  # metric, aspect, coefficient


def load_released_scores() -> Scores:
    """Returns the scores of the released file, prepared as the authors prepared them.

    The upstream file is read instead of the dataset, because the dataset leaves out failures and values outside of
    their scale. Items and systems are placeholders.

    Raises:
        InputError: The file is unavailable.
    """
    recipe = load_recipe("cseval")
    source = recipe.sources["test"]
    path = fetch(source, folder=recipe.folder, terms=recipe.card.terms)
    assert path is not None  # only optional sources may be missing
    known = load_paper(PAPER).names["results_files"]
    judges = [rater for rater in recipe.raters if rater.source == "test" and rater.name in known]
    columns = [(rater, aspect, column) for rater in judges for aspect, column in rater.column_of([*ASPECTS]).items()]
    mapped = {aspect: source.columns[aspect] for aspect in ASPECTS} | {column: column for _, _, column in columns}
    rows = read_csv(path, source.model_copy(update={"columns": mapped}))
    numeric = {column: np.array(numbers(rows, column), dtype=float) for column in rows}
    values = []
    for rater, aspect, column in columns:
        scores = numeric[column]
        if rater.kind == "model" and aspect in IMPUTED:
            scores[scores == FAILED] = REPLACED
        values.append(scores)
    metrics = [(rater.name, aspect if aspect in ASPECTS else None) for rater, aspect, _ in columns]
    people, unknown = np.stack([numeric[aspect] for aspect in ASPECTS]), np.full(len(rows), -1)
    none = np.zeros((0, len(ASPECTS), len(rows)))
    return Scores(metrics, np.stack(values), ASPECTS, people, np.arange(len(rows)), unknown, none)


def correlate_pooled(scores: Scores) -> Coefficients:
    """Correlates every metric with every aspect over all rows; the aspect `average` has the means."""
    names = {coefficient: name for name, coefficient in COEFFICIENTS.items()}
    rows = correlations(scores, ("pooled",), [*names], Bootstrap(resamples=0)).replace({"coefficient": names})
    found: Coefficients = rows.set_index(["metric", "aspect", "coefficient"])["value"].to_dict()
    return found | average_over_aspects(found)


def average_over_aspects(found: Coefficients) -> Coefficients:
    """Returns the mean coefficients over the aspects, with the aspect `average`."""
    return {
        (metric, "average", name): float(
            np.mean([found[metric, aspect, name] for aspect in AVERAGED.get(metric, ASPECTS)])
        )
        for metric, name in dict.fromkeys((metric, name) for metric, _, name in found)
    }


def count_rows_of_table_1(data: Datasets) -> int:
    """Returns the number of rows behind Table 1, from the authors' t statistics: t = r * sqrt((n - 2) / (1 - r**2)).

    Raises:
        InputError: The file is unavailable.
    """
    key = "spearman_suitableness"
    rows = read_csv(data.source(PAPER, key), load_paper(PAPER).sources[key])
    r, t = rows.set_index("metric").loc["gpt-4_suitableness_score", ["suitableness", "t"]].astype(float)
    return round(2 + float(t**2 * (1 - r**2) / r**2))


def recompute_table_1(data: Datasets, table: Scores) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the values of Table 1, each with its number of rows."""
    found, n_paper = correlate_pooled(table), count_rows_of_table_1(data)
    raters = {*(metric for metric, _ in table.metrics), "annotators"}
    ratings = [row for row in data.rows("cseval", "ratings") if row["rater"] in raters]
    sound = correlate_pooled(scores_of(checked(read("ratings", ratings)[0], needs_systems=False)[0]))
    early = np.arange(len(table.item)) < N_FROM_ROUNDS
    parts = [correlate_pooled(_select(table, rows, BY_GPT_4)) for rows in (early, ~early)]
    n = {metric: int(np.isfinite(values).sum()) for (metric, _), values in zip(table.metrics, table.x, strict=True)}
    complete: Flags = np.isfinite(table.x.sum(axis=0))
    partial = {metric for metric, n_rows in n.items() if n_rows > complete.sum()}
    on_complete = found | correlate_pooled(_select(table, complete, partial))
    paper = load_paper(PAPER)
    keys = [(row, column) for row, cells in paper.printed("Table 1").items() for column in cells]
    for row, column in keys:
        if paper.table("Table 1").reason(row) is not None:
            continue
        aspect, name = column.split("/")
        key = (row, aspect, name)
        if row == DELTA:
            others = {other: each for (other, *rest), each in on_complete.items() if rest == [aspect, name]}
            best, highest = max((item for item in others.items() if item[0] != "gpt-4"), key=lambda item: item[1])
            note = (
                f"{complete.sum()} released rows with all scores instead of {n_paper}; best other {best} {highest:.3f}"
            )
            value = on_complete["gpt-4", aspect, name] - highest
            yield ("Table 1", row, column), RecomputedValue(value, note, by_chance=True)
            continue
        note = f"{n[row]} released rows instead of {n_paper}; without zeros and failures {sound[key]:.3f}"
        if aspect == "average" and row in AVERAGED:
            note = f"mean of {' and '.join(AVERAGED[row])} only; {note}"
        if row in BY_GPT_4:
            note += f"; first {N_FROM_ROUNDS} rows of the file {parts[0][key]:.3f}, others {parts[1][key]:.3f}"
            note += " (where the scores of annotators and GPT-4 are not independent)" if row != "gpt-4-zs" else ""
        yield ("Table 1", row, column), RecomputedValue(found[key], note, by_chance=True)


def _select(table: Scores, rows: Flags, metrics: Iterable[str]) -> Scores:
    """Returns the given rows and metrics of scores."""
    names = set(metrics)
    kept = [position for position, (metric, _) in enumerate(table.metrics) if metric in names]
    x, people = table.x[kept][:, rows], table.people[..., rows]
    named = [table.metrics[position] for position in kept]
    return table._replace(
        metrics=named, x=x, y=table.y[:, rows], item=table.item[rows], system=table.system[rows], people=people
    )


def recompute_table_5(data: Datasets, table: Scores) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the values of Table 5: mean and standard deviation over random samples."""
    all_rows, n_paper = np.full(len(table.item), True), count_rows_of_table_1(data)
    metrics = load_paper(PAPER).table("Table 5").rows
    named = [metric for metric, _ in table.metrics]
    for row in stability(_select(table, all_rows, metrics)).itertuples():
        sizes = ", ".join(map(str, row.sizes))
        n = np.isfinite(table.x[named.index(row.metric)]).sum()
        note = f"{row.n} samples of {sizes} of {n} rows instead of 39 of up to 6100 of {n_paper}; other random samples"
        for name, value in (("mean", row.mean), ("std", row.std)):
            yield ("Table 5", row.metric, f"{row.aspect}/{name}"), RecomputedValue(value, note, by_chance=True)


def recompute_table_6() -> dict[Key, RecomputedValue]:
    """Recomputes Table 6 and the gain of Appendix D from the printed means of Table 5."""
    paper = load_paper(PAPER)
    means = {
        (row, column.removesuffix("/mean")): printed.value
        for row, cells in paper.parsed("Table 5").items()
        for column, printed in cells.items()
    }
    note = "means of Table 5"
    cells: dict[Key, RecomputedValue] = {}
    for aspect in ASPECTS:
        auto_cseval = means["gpt-4", aspect]
        for row, others in (("best-traditional-metric", TRADITIONAL), ("best-method", ("gpt-4-zs", "g-eval-gpt-4"))):
            best = max(others, key=lambda metric: means[metric, aspect])
            cells["Table 6", row, aspect] = RecomputedValue(
                auto_cseval - means[best, aspect], f"{note}; best other {best}", from_print=True
            )
    gains = [cells["Table 6", "best-traditional-metric", aspect].value or 0.0 for aspect in ASPECTS]
    gain = RecomputedValue(float(np.mean(gains)), "mean of the first row of Table 6", from_print=True)
    return cells | {("text D", GAIN, "value"): gain}
