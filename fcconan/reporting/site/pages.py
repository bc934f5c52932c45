"""The page of every result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fcconan.data import read_text
from fcconan.errors import InputError
from fcconan.reporting.benchmark_reports import DETAILS, RESULT, as_json, make_csv_tables
from fcconan.reporting.dataset_pages import dataset_page
from fcconan.reporting.page import Page, day_of
from fcconan.reporting.plots import figures
from fcconan.reporting.reproduced_values import reproduction_page
from fcconan.reporting.retrieval import retrieval_page
from fcconan.reporting.scores import agreement_page, correlation_page, leaderboard_page, tournament_page
from fcconan.reporting.site.inputs import MANIFEST, Input, read_json
from fcconan.reporting.text_metrics import metrics_page


def make_pages(inputs: Sequence[Input], *, texts: bool) -> list[Page]:
    """Returns a page for each input, in their order; file names distinguish pages with the same label.

    Args:
        inputs: The recognised inputs.
        texts: Whether texts may be shown, where there are any.

    Raises:
        InputError: A result is not as the verb wrote it.
    """
    pages = []
    for each in inputs:
        try:
            page = _PAGES[each.kind](each, texts)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
            if isinstance(error, InputError):
                raise
            verb = _VERBS.get(each.kind, each.kind)
            raise InputError(
                f"{each.path} is not a result of `fcconan {verb}` of this version ({type(error).__name__}: {error}): "
                "write it again"
            ) from error
        pages.append(replace(page, date=day_of(_moment(each))))
    labels = [page.label or page.title for page in pages]
    named = list(zip(labels, (each.path.stem for each in inputs), strict=True))
    for place, (each, (label, name)) in enumerate(zip(inputs, named, strict=True)):
        if labels.count(label) > 1:
            distinct = name if named.count((label, name)) == 1 else f"{each.path.resolve().parent.name}/{name}"
            pages[place] = replace(pages[place], label=f"{label} ({distinct})")
    return pages


def _moment(each: Input) -> float:
    """Returns when a result was written."""
    files = [each.path] if each.path.is_file() else [each.path / name for name in ("results.json", MANIFEST)]
    return next(file.stat().st_mtime for file in files if file.is_file())


def bench_page(
    result: Mapping[str, Any], rankings: Mapping[str, Any] | None, trec: Mapping[str, str], *, texts: bool = True
) -> Page:
    """Returns a benchmark as a page with its downloads: the result, tables, plots, runs and qrels.

    Args:
        result: The benchmark's result.
        rankings: Return value of `fcconan.reporting.retrieval.drill_down`, or None.
        trec: Path, and content of every TREC file.
        texts: Whether texts may be shown.
    """
    plots = figures(result)
    files = {
        RESULT: as_json(result),
        **make_csv_tables(result),
        **{f"{name}.svg": svg for name, (_, svg) in plots.items()},
    }
    return replace(retrieval_page(result, rankings, plots, texts=texts), files={**files, **trec})


def _bench(each: Input, texts: bool) -> Page:
    if not each.path.is_dir():
        return bench_page(each.data, None, {}, texts=texts)
    rankings = read_json(each.path / DETAILS)
    same = {part: set(rankings.get(part, ())) == set(each.data[part]) for part in ("systems", "partitions")}
    same["signatures"] = rankings.get("signature") == each.data["signature"]
    for part in (part for part, is_same in same.items() if not is_same):
        raise InputError(f"{each.path} holds {RESULT} and {DETAILS} of different {part}: write the folder again")
    files = sorted([*each.path.glob("runs/*.trec"), *each.path.glob("qrels/*.trec")])
    trec = {path.relative_to(each.path).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return bench_page(each.data, rankings, trec, texts=texts)


def _scores(each: Input, texts: bool) -> Page:
    return replace(_SCORES[each.kind](each.data), files={f"{each.kind}.json": read_text(each.path)})


def _dataset(each: Input, texts: bool) -> Page:
    page = dataset_page(each.path, texts=texts)
    return replace(page, files={MANIFEST: (each.path / MANIFEST).read_text(encoding="utf-8"), **page.files})


_SCORES: dict[str, Callable[[Any], Page]] = {
    "rank": tournament_page,
    "correlate": correlation_page,
    "agree": agreement_page,
    "leaderboard": leaderboard_page,
    "metrics": metrics_page,
    "reproduce": lambda rows: reproduction_page({"rows": rows}),
}
_VERBS = {"dataset": "build"}
_PAGES: dict[str, Callable[[Input, bool], Page]] = {
    "bench": _bench,
    **dict.fromkeys(_SCORES, _scores),
    "dataset": _dataset,
}
