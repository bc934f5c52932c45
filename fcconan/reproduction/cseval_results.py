"""The authors' results files of CSEval: the correlations behind Table 1, whose 6526 rows are not released."""

import numpy as np

from fcconan.building import numbers, read_csv
from fcconan.reproduction.cseval_correlations import ASPECTS, COEFFICIENTS, DELTA, PAPER
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Results

JUDGE = "gpt-4"  # of the last row, its difference from the best other row


def read_results_files(data: Datasets) -> Results:
    """Reads the values of Table 1: coefficients, their means over the aspects, and differences of the last row.

    Args:
        data: Datasets, which find the files.

    Returns:
        The values and their files by table, row and column. Toxicity has two aspects in the files.

    Raises:
        InputError: A file is unavailable.
    """
    paper = load_paper(PAPER)
    released = {}
    for key, source in paper.sources.items():
        rows = read_csv(data.source(PAPER, key), source)
        for aspect in source.columns.keys() & {*ASPECTS}:
            for metric, value in zip(rows["metric"], numbers(rows, aspect), strict=True):
                where = metric, aspect, key.partition("_")[0]
                released[where] = value or 0.0, [f"{source.repository}/{source.path}"]
    found: dict[tuple[str, str, str], tuple[float, list[str]]] = {}
    for name, metric in paper.names["results_files"].items():
        for coefficient in COEFFICIENTS:
            keys = {aspect: (metric.replace("<aspect>", aspect), aspect, coefficient) for aspect in ASPECTS}
            own = {aspect: released[key] for aspect, key in keys.items() if key in released}
            own["average"] = (
                float(np.mean([value for value, _ in own.values()])),
                [file for _, files in own.values() for file in files],
            )
            found |= {("Table 1", name, f"{aspect}/{coefficient}"): each for aspect, each in own.items()}
    for table, name, column in [key for key in found if key[1] == JUDGE]:
        value, files = found[table, name, column]
        best = max(other for (_, row_name, of), (other, _) in found.items() if of == column and row_name != JUDGE)
        found[table, DELTA, column] = value - best, files
    return found
