"""`reproduce`: the values that the papers print, and the same values recomputed from the released data."""

import math
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fcconan.building import load_recipe
from fcconan.data import check_names
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper, paper_names, parse_printed
from fcconan.reproduction.values import STATUSES, Key, RecomputedValue, Results, status_of
from fcconan.result import Pivot, Result

FROM_PRINT = "from printed values"
BY_CHANCE = "close to the printed value by chance"
ENCODERS = ("sbert-mpnet", "sbert-roberta-large")  # rows of FC-CONAN's Table 4 whose weights are public
COLUMNS = "paper table row column published recomputed status note command source".split()


def reproduce(
    *papers: str,
    data_dir: Path | None = None,
    model: dict[str, str] = {},  # noqa: B006 - it is not changed
) -> Result:
    """Recompute the values that the papers print.

    The statuses: `exact`: equal in all printed digits; `rounding`: the paper truncated the value or rounded it twice;
    `equals_results_file`: the printed value equals the results files of the authors, but the public rows do not give
    it; `differs`; `needs_model`: the value needs a model; `not_released`: the data were not published.

    Args:
        papers: Short names of papers: cseval, fc-conan, multi-aspect, pairwise-ranking; default: all.
        data_dir: Folder of built datasets, which later runs use again; default: they are built for this run only.
        model: Encoders of rows of FC-CONAN's Table 4, as in `--model.sbert-mpnet FOLDER`: sentence-transformers models
            (folder or Hub name) for sbert-mpnet and sbert-roberta-large.

    Returns:
        `summary`: the number `n` of values by paper, table (`all` for the whole paper) and status. `values`: each
        printed value in the order of the paper, with `recomputed`, `status`, `note`, `command` and `source`. The
        command prints the recomputed value or, where the note has a second value of the package, that one. The source
        has the upstream files of the recomputed value and of the results file.

    Raises:
        InputError: A paper is unknown, or a dataset cannot be built.

    Examples:
        >>> found = reproduce("multi-aspect").to_frame("values")
        >>> found["status"].value_counts().to_dict()
        {'not_released': 1051, 'exact': 1}
    """
    import pandas as pd

    check_names("model", model, ENCODERS)
    names = list(dict.fromkeys(papers or paper_names()))
    for name in names:
        load_paper(name)
    with TemporaryDirectory() as folder:
        data = Datasets(data_dir or Path(folder))
        values = pd.DataFrame([row for name in names for row in _compare(name, data, model)], columns=COLUMNS)
    counted = pd.concat([values.assign(table="all"), values], ignore_index=True)
    flags = pd.get_dummies(counted["status"], dtype=int).reindex(columns=[*STATUSES], fill_value=0)
    sums = flags.groupby([counted["paper"], counted["table"]], sort=False).sum().stack()
    tables = {"summary": sums.rename_axis(["paper", "table", "status"]).rename("n").reset_index(), "values": values}
    used = [f"{name}@{fingerprint}" for name, fingerprint in sorted(data.fingerprints.items())]
    given = ",".join(f"{name}={each}" for name, each in model.items())
    identity = {"papers": "+".join(names), "data": "+".join(used), "models": given or None}
    pivots = {"summary": Pivot(("paper", "table"), ("status",), "n")}
    return Result("reproduce", tables, identity, pivots=pivots, choice=("paper", names[0]))


def _compare(paper: str, data: Datasets, models: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """Yields the printed values of a paper in its order, each with its recomputed value."""
    recomputed, results = _recompute(paper, data, models)
    for table, row, column, published in load_paper(paper).cells():
        key, printed = (table.id, row, column), parse_printed(published)
        remarks = [each for each in table.remarks if each.applies_to(row, column)]
        value = recomputed.get(key) or RecomputedValue(None, without=table.reason(row))
        number = None if value.value is None or not math.isfinite(value.value) else float(value.value)
        status = value.without or status_of(printed, number)
        notes = [": ".join(filter(None, [FROM_PRINT if value.from_print else "", value.note]))]
        notes += [each.note for each in remarks if number is None or each.without is None]
        if value.by_chance and status != "differs":
            status = "differs"
            notes.append(BY_CHANCE)
        command = ""
        files: list[str] = []
        if number is not None:
            files += _files(paper, next((each.source for each in reversed(remarks) if each.source), ()))
            command = [f"fcconan reproduce {paper}", *(each.command for each in remarks if each.command)][-1]
        if key in results:
            theirs, their_files = results[key]
            equality = status_of(printed, theirs)
            status = "equals_results_file" if equality == "exact" else status
            twice = ", rounded twice" if equality == "rounding" else ""
            notes.append(f"the authors' results file: {theirs:.5f}{twice}")
            files += their_files
        texts = ["; ".join(filter(None, notes)), command, "; ".join(files)]
        yield paper, *key, published, math.nan if number is None else number, status, *texts


def _recompute(paper: str, data: Datasets, models: Mapping[str, str]) -> tuple[dict[Key, RecomputedValue], Results]:
    """Returns the values of a paper that are computed, and those of the authors' results files."""
    from fcconan.reproduction import cseval, cseval_results, fc_conan, pairwise_ranking

    if paper == "multi-aspect":  # the scores behind all other values are not released
        pairs = data.rows(paper, "pairs", "train")
        return {("text 3", "training-pairs", "count"): RecomputedValue(len(pairs))}, {}
    if paper == "fc-conan":
        return fc_conan.recompute(data, models), {}
    recompute = {"cseval": cseval, "pairwise-ranking": pairwise_ranking}[paper].recompute
    return recompute(data), cseval_results.read_results_files(data) if paper == "cseval" else {}


@cache
def _files(paper: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns repository and path of the files that a remark names; never a path that names people."""
    found: list[str] = []
    for name in names:
        recipe, _, pattern = name.rpartition("/")
        sources = load_recipe(recipe).sources if recipe else load_paper(paper).sources
        used = [each for key, each in sources.items() if fnmatchcase(key, pattern) and not each.path_names_people]
        found += [f"{each.repository}/{each.path}" for each in used]
    return tuple(found)
