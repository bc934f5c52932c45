"""Tables of the pages that the scripts write, and means with intervals."""

import re

import numpy as np
import pandas as pd

RESAMPLES = 10_000


def to_markdown(table: pd.DataFrame) -> str:
    """Returns a table in Markdown: numbers are aligned to the right, and an interval stays on its line."""
    cells = table.astype(object).map(lambda cell: f"{cell:.3f}" if isinstance(cell, float) and cell % 1 else str(cell))
    cells = cells.map(lambda cell: "–" if cell in ("nan", "None") else cell.removesuffix(".0").replace("|", "/"))
    cells = cells.map(lambda cell: re.sub(r"(\[\S+), ", "\\1,\u00a0", cell))
    numbers = cells.apply(lambda column: column.str.match(r"[-−–.\d]").all())
    lines = [[*map(str, table.columns)], ["---:" if each else "---" for each in numbers], *cells.to_numpy().tolist()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def mean_with_interval(values: pd.Series, items: pd.Series) -> tuple[float, float, float]:
    """Returns a mean with the ends of its 95 % bootstrap interval over items."""
    sums = pd.DataFrame({"value": values, "n": values.notna()}).groupby(items.to_numpy()).sum().to_numpy(float)
    drawn = np.random.default_rng(0).integers(len(sums), size=(RESAMPLES, len(sums)))
    low, high = np.percentile(np.divide(*sums[drawn].sum(axis=1).T), [2.5, 97.5])
    return float(values.mean()), float(low), float(high)
