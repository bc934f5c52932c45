"""The authors' results files of CSEval: the correlations behind Table 1, whose 6526 rows are not released."""

from fcconan.building import read_csv
from fcconan.reproduction.cseval_correlations import (
    ASPECTS,
    COEFFICIENTS,
    DELTA,
    PAPER,
    Coefficients,
    average_over_aspects,
)
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Key, Results

JUDGE = "gpt-4"  # of the last row, its difference from the best other row


def read_results_files(data: Datasets) -> Results:
    """Reads the values of Table 1: coefficients, their means over the aspects, and differences of the last row.

    Args:
        data: Datasets, which find the files.

    Returns:
        The values and their files by table, row and column. Two files lack toxicity.

    Raises:
        InputError: A file is unavailable.
    """
    paper = load_paper(PAPER)
    by_metric: Coefficients = {}
    files: dict[tuple[str, str, str], str] = {}
    for key, source in paper.sources.items():
        name = key.partition("_")[0]
        for row in read_csv(data.source(PAPER, key), source):
            for aspect in source.columns.keys() & {*ASPECTS}:
                value = row.number(aspect)
                assert value is not None  # the files have no empty cell
                by_metric[str(row["metric"]), aspect, name] = value
                files[str(row["metric"]), aspect, name] = f"{source.repository}/{source.path}"
    values: Coefficients = {}
    used: dict[tuple[str, str, str], list[str]] = {}
    for row_name, metric in paper.names["results_files"].items():
        for name in COEFFICIENTS:
            keys = {aspect: (metric.replace("<aspect>", aspect), aspect, name) for aspect in ASPECTS}
            there = {aspect: key for aspect, key in keys.items() if key in by_metric}
            values |= {(row_name, aspect, name): by_metric[key] for aspect, key in there.items()}
            used |= {(row_name, aspect, name): [files[key]] for aspect, key in there.items()}
            used[row_name, "average", name] = [files[key] for key in there.values()]
    values |= average_over_aspects(values)
    for aspect, name in {key[1:] for key in values}:
        best = max(value for (row_name, *of), value in values.items() if of == [aspect, name] and row_name != JUDGE)
        values[DELTA, aspect, name] = values[JUDGE, aspect, name] - best
        used[DELTA, aspect, name] = used[JUDGE, aspect, name]
    found: dict[Key, tuple[float, list[str]]] = {}
    for (row_name, aspect, name), value in values.items():
        found["Table 1", row_name, f"{aspect}/{name}"] = (value, used[row_name, aspect, name])
    return found
