"""A small made-up result with everything that a report must bear: missing figures, a failed system, an evil text."""

from typing import Any

METRICS = ["hit_rate@10", "mrr@10", "ndcg@10", "map@10"]
EVIL = "</script><img src=x onerror=\"document.title='broken'\"> The Ombrey & the Tessok"
VALUES = {"alpha": 0.5, "beta_1": 0.25, "gamma": None}


def _figures(value: float | None) -> dict[str, Any]:
    counts = {"n_queries": 2, "n_without_positive": 0, "judged@10": 0.75, "n_empty": 0, "n_short": 1, "n_failed": 0}
    return dict.fromkeys(METRICS, value) | counts


def result() -> dict[str, Any]:
    """What the benchmark returns first."""
    systems = {
        name: {
            "configuration": {"kind": "made-up", "name": name},
            "resolved": {},
            "diagnostics": {"calls": {"ok": 2}},
            "failures": {},
            "partitions": {part: _figures(value) for part in ("gold", "bronze")},
            "intervals": {
                part: {m: [None, None] if value is None else [value - 0.1, value + 0.1] for m in METRICS}
                for part in ("gold", "bronze")
            },
            "unjudged_right": {part: dict.fromkeys(METRICS, value) for part in ("gold", "bronze")},
            "summary": {"avg": value, "min": value, "max": value, "cv": None if value is None else 12.3456},
            "summary_intervals": {"avg": [None, None] if value is None else [value - 0.1, value + 0.1]},
        }
        for name, value in VALUES.items()
    }
    return {
        "signature": "fcconan:0|made-up",
        "protocol": "sound",
        "dataset": {
            "name": "example",
            "fingerprint": "0",
            "title": "Example & co",
            "n_queries": 2,
            "n_corpus": 3,
            "synthetic": False,
            "redistributable": False,
        },
        "settings": {
            "k": 10,
            "metrics": METRICS,
            "summarised": METRICS,
            "depth": 3,
            "seed": 0,
            "resamples": 100,
            "confidence": 0.95,
            "ties": "hash-0",
            "population": "the full catalogue",
            "version": "0",
        },
        "partitions": {
            part: {"n_judged": 4, "n_positive": 2, "n_queries": 2, "n_without_positive": 0}
            for part in ("gold", "bronze")
        },
        "systems": systems,
        "chance": {
            "partitions": {part: dict.fromkeys(METRICS, 0.1) for part in ("gold", "bronze")},
            "summary": {"avg": 0.1, "min": 0.1, "max": 0.1, "cv": 0.0},
        },
        "comparisons": [
            {
                "a": "alpha",
                "b": "beta_1",
                "partition": part,
                "metric": metric,
                "difference": 0.25,
                "low": 0.1,
                "high": 0.4,
                "p": 0.01,
                "p_corrected": 0.04,
            }
            for part in ("gold", "bronze")
            for metric in METRICS
        ],
        "order_agreement": [{"a": "gold", "b": "bronze", "metric": "mrr@10", "tau": 1.0, "low": 0.5, "high": 1.0}],
        "failed": {"delta": "the endpoint answered 401"},
        "notes": ["A note with <angles>."],
    }


def details() -> dict[str, Any]:
    """What the benchmark returns second."""
    runs: dict[str, dict[str, list[str]]] = {
        "alpha": {"q1": ["c1", "c2", "c3"], "q2": ["c2"]},
        "beta_1": {"q1": ["c3"], "q2": ["c1"]},
        "gamma": {},
    }
    per_query = {
        "alpha": {"q1": 0.9, "q2": 0.1},
        "beta_1": {"q1": 0.2, "q2": 0.3},
        "gamma": {"q1": None, "q2": None},
    }
    return {
        "queries": {"q1": EVIL, "q2": "Nobody needs Velmari bakers."},
        "corpus": {"c1": "Bread is for all.", "c2": EVIL, "c3": "Ask the Dravene."},
        "labels": {
            "gold": {"q1": {"c1": 1, "c2": 0}, "q2": {"c2": 1}},
            "bronze": {"q1": {"c1": 1, "c2": 0}, "q2": {"c2": 1, "c1": 0}},
        },
        "runs": runs,
        "scores": {
            name: {query: [(key, float(-i)) for i, key in enumerate(keys)] for query, keys in run.items()}
            for name, run in runs.items()
        },
        "per_query": {
            name: {part: dict.fromkeys(METRICS, values) for part in ("gold", "bronze")}
            for name, values in per_query.items()
        },
    }
