"""A folder of made-up results, one of every kind that a site shows, with names that a page must not take for markup."""

import json
from pathlib import Path
from typing import Any

from fcconan.building.builds import build
from fcconan.reporting.benchmark_reports import write_report
from fcconan.scoring.tournament.ranking import rank_systems
from tests.reporting.invented import EVIL, example_details, example_result
from tests.small import write_small

STRONG, WEAK = "judge-o", f"judge-w {EVIL}"


def write_results(folder: Path) -> Path:
    """Writes `bench/`, `small/` and a JSON result of every other verb; returns the folder."""
    folder.mkdir()
    write_report(folder / "bench", example_result(), example_details())
    build(str(write_small(folder.parent / "upstream")), folder / "small", progress=False)
    contents = {
        "rank": rank_systems(_verdicts(), resamples=20),
        "correlate": {
            "signature": "fcconan:0|data:made-up",
            "rows": [_correlation(WEAK, 0.25), _correlation(STRONG, 0.75)],
        },
        "agree": {"signature": {"relevance": "fcconan:0|metric:agreement"}, "notes": [], "rows": _agreement()},
        "leaderboard": {"signature": "fcconan:0|metric:mean-rating", "rows": [_rating("A", 4.5), _rating(EVIL, 2.0)]},
        "metrics": {
            "out": "x.csv",
            "data": "made-up",
            "rows": [_metric("A", 0.5), _metric(EVIL, None)],
            "notes": [EVIL],
        },
        "reproduce": [_cell("exact", "0.2203", 0.2203), _cell("differs", "0.5", 0.25)],
    }
    for name, data in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "unrelated.json").write_text('{"colour": "green"}', encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    return folder


def _verdicts() -> list[dict[str, Any]]:
    names = ["A", "B", EVIL]
    return [
        {"item_id": f"i{item}", "system_a": names[a], "system_b": names[b], "reply_a": f"{item}{a}",
         "reply_b": f"{item}{b}", "rater": "anna", "rater_kind": "human", "verdict": verdict, "score_a": None,
         "score_b": None, "reason": None}
        for item, verdict in enumerate(("a", "b", "tie", "a"))
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]  # fmt: skip


def _correlation(metric: str, value: float) -> dict[str, Any]:
    counts = {"n": 9, "n_groups": 3, "n_constant": 0, "n_rows_too_few": 0, "n_missing": 1, "reason": None}
    return {"metric": metric, "aspect": "relevance", "level": "pooled", "coefficient": "spearman", "value": value,
            "low": value - 0.125, "high": value + 0.125, "chance": 0.0, "ceiling": 0.875, **counts}  # fmt: skip


def _agreement() -> list[dict[str, Any]]:
    counts = {"n": 8, "n_items": 9, "n_missing": 1, "low": None, "high": None, "reason": None}
    return [
        {
            "aspect": "relevance",
            "coefficient": "alpha_nominal",
            "value": 0.5,
            "raters": raters,
            "level": level,
            **counts,
        }
        for level, raters in (("overall", ["anna", "ben", EVIL]), ("pair", ["anna", "ben"]))
    ]


def _rating(system: str, value: float) -> dict[str, Any]:
    return {"system": system, "aspect": "relevance", "rater": "people", "rater_kind": "human", "value": value,
            "low": None, "high": None, "scale": [1, 5], "higher_is_better": True, "n": 4, "n_missing": 0}  # fmt: skip


def _metric(system: str, value: float | None) -> dict[str, Any]:
    return {"metric": "rouge-l", "system": system, "value": value, "reason": None if value else "no_values",
            "higher_is_better": True, "missing": {}, "signature": "rouge-l|fcconan:0"}  # fmt: skip


def _cell(status: str, published: str, recomputed: float) -> dict[str, Any]:
    return {"paper": "fc-conan", "table": "Table 4", "row": f"row {status}", "column": EVIL, "published": published,
            "recomputed": recomputed, "status": status, "note": ""}  # fmt: skip
