"""A made-up benchmark result with everything that a report has to cope with."""

from typing import Any

METRICS = ["hit_rate@10", "mrr@10", "ndcg@10"]
PARTITIONS = ["diamond", "gold", "silver", "bronze"]
AWKWARD = "tf_idf & 50%|$x$ <b>"
EVIL = '</script><img src=x onerror="window.evil = 1">\u2028 & the Ombrey <script>window.evil = 2</script>'
BM25, RANDOM, FAILED = "bm25", "random", "gpt_4"
# The same figure for every metric: value and half of its interval, a system and partition.
VALUES: dict[str, list[float | None]] = {
    BM25: [0.5, 0.25, 0.375, 0.75],
    AWKWARD: [0.25, None, 0.5, 0.625],
    RANDOM: [0.125, 0.0625, 0.125, 0.25],
}
SUMMARIES: dict[str, dict[str, float | None]] = {
    BM25: {"avg": 0.46875, "min": 0.25, "max": 0.75, "cv": 46.06423},
    AWKWARD: {"avg": None, "min": None, "max": None, "cv": None},
    RANDOM: {"avg": 0.140625, "min": 0.0625, "max": 0.25, "cv": 56.29},
}
QUERIES = {
    "q1": "The Tessok take every stall on the market.",
    "q2": EVIL,
    "q3": "Nobody can trust the Velmari.",
}
CORPUS = {
    "c1": "The market has more stalls than ever, and the Tessok rent nine of them.",
    "c2": EVIL,
    "c3": "Trust grows when you talk to the Velmari.",
    "c4": "",
}
LABELS = {"q1": {"c1": 1, "c2": 0}, "q2": {"c3": 1}}
FEWER_LABELS = {"q1": {"c1": 1}, "q2": {"c3": 1}}  # on diamond
RUNS = {
    BM25: {"q1": ["c1", "c2", "c3"], "q2": ["c3", "c4"]},
    AWKWARD: {"q1": ["c2", "c3", "c1"], "q2": ["c3", "c2"], "q3": ["c3"]},
    RANDOM: {"q1": ["c4", "c3", "c2"], "q2": ["c2", "c3"], "q3": ["c1"]},
}
PER_QUERY: dict[str, dict[str, float | None]] = {
    BM25: {"q1": 1.0, "q2": 1.0, "q3": None},
    AWKWARD: {"q1": 0.5, "q2": 1.0, "q3": None},
    RANDOM: {"q1": 0.0, "q2": None, "q3": None},
}


def _interval(value: float | None) -> list[float | None]:
    return [None, None] if value is None else [value - 0.0625, value + 0.0625]


def _system(name: str) -> dict[str, Any]:
    return {
        "title": name.upper(),
        "configuration": {"kind": name, "k1": 1.5},
        "diagnostics": {},
        "failures": {"q3": "the endpoint answered 500"} if name == BM25 else {},
        "partitions": {
            part: dict.fromkeys(METRICS, value)
            | {"n_queries": 2, "n_without_positive": 1, "judged@10": 0.5, "n_empty": 0, "n_short": 3}
            | {"n_failed": 1 if name == BM25 else 0}
            for part, value in zip(PARTITIONS, VALUES[name], strict=True)
        },
        "intervals": {
            part: {metric: _interval(value) for metric in METRICS}
            for part, value in zip(PARTITIONS, VALUES[name], strict=True)
        },
        "summary": SUMMARIES[name],
        "summary_intervals": {key: _interval(value) for key, value in SUMMARIES[name].items()},
    }


def example_result() -> dict[str, Any]:
    """Three systems, one of which has no figure on gold, and one that failed; four partitions, three metrics."""
    systems = {name: _system(name) for name in (RANDOM, BM25, AWKWARD)}
    systems[RANDOM]["spread"] = {"bronze": dict.fromkeys(METRICS, 0.03125)}
    systems[BM25]["failures_as_zero"] = {"gold": dict.fromkeys(METRICS, 0.1875)}
    tests = [
        (BM25, AWKWARD, 0.125, 0.0006, 0.0018),
        (BM25, RANDOM, 0.5, 0.02, 0.06),
        (AWKWARD, RANDOM, None, None, None),
    ]
    return {
        "signature": "fcconan:0|protocol:sound|data:invented-0123",
        "protocol": "sound",
        "dataset": {
            "name": "invented",
            "fingerprint": "0123",
            "title": "Invented & made up",
            "n_queries": 3,
            "n_corpus": 4,
            "synthetic": False,
            "redistributable": False,
        },
        "settings": {
            "k": 10,
            "metrics": METRICS,
            "depth": 4,
            "seed": 0,
            "resamples": 100,
            "confidence": 0.95,
            "ties": "hash-0",
            "population": "the full catalogue",
            "version": "0",
        },
        "partitions": {
            part: {"n_judged": 3, "n_positive": 2, "n_queries": 3, "n_without_positive": 1} for part in PARTITIONS
        },
        "systems": systems,
        "chance": {
            "partitions": {part: {"hit_rate@10": 0.1, "mrr@10": 0.05, "ndcg@10": None} for part in PARTITIONS},
            "summary": {"avg": 0.075, "min": 0.05, "max": 0.1, "cv": 33.3333},
        },
        "comparisons": [
            {
                "a": a,
                "b": b,
                "partition": "bronze",
                "metric": "ndcg@10",
                "difference": difference,
                "low": None if difference is None else difference - 0.25,
                "high": None if difference is None else difference + 0.25,
                "p": p,
                "p_corrected": corrected,
                "family": "primary",
            }
            for a, b, difference, p, corrected in tests
        ],
        "families": [
            {
                "name": "primary",
                "tests": "all pairs of systems, ndcg@10, bronze",
                "n_tests": 2,
                "floor": 0.25,
                "correction": "max-t",
                "units": 3,
            }
        ],
        "order_agreement": [{"a": "diamond", "b": "gold", "metric": "mrr@10", "tau": 1 / 3, "low": -1.0, "high": 1.0}],
        "failed": {FAILED: "rate_limited"},
        "problems": {
            BM25: "failed on 1 of 3 HS: the endpoint answered 500",
            FAILED: "failed: 401: no key | <none>",
        },
        "notes": ["Unjudged CNs count as wrong."],
    }


def example_details() -> dict[str, Any]:
    """Three HS, of which one has no positive; two texts that would run as a script if a page let them."""
    return {
        "queries": QUERIES,
        "corpus": CORPUS,
        "labels": {**dict.fromkeys(PARTITIONS, LABELS), "diamond": FEWER_LABELS},
        "runs": RUNS,
        "scores": {
            name: {query: [(key, -float(rank)) for rank, key in enumerate(keys)] for query, keys in run.items()}
            for name, run in RUNS.items()
            if " " not in name  # which a TREC run cannot hold
        },
        "per_query": {
            name: {part: dict.fromkeys(METRICS, row) for part in PARTITIONS} for name, row in PER_QUERY.items()
        },
    }


POPULARITY, LONGEST = "popularity", "longest"


def labelled_result() -> dict[str, Any]:
    """The example with what labels are worth: two baselines, judged pairs only, HS and CNs, and messages."""
    result = example_result()
    systems, settings = result["systems"], result["settings"]
    for name in (POPULARITY, LONGEST):
        systems[name] = _system(RANDOM)
    systems[POPULARITY] |= {"uses_labels": True, "ignores_message": True, "summary": {**SUMMARIES[RANDOM], "avg": 0.5}}
    systems[LONGEST]["ignores_message"] = True
    settings["primary"] = "ndcg@10@bronze"
    for place, (name, system) in enumerate(systems.items()):
        system["judged_only"] = {part: dict.fromkeys(METRICS, 0.625 + place / 64) for part in PARTITIONS}
        system["judged_only_intervals"] = {part: {metric: [0.5, 0.75] for metric in METRICS} for part in PARTITIONS}
        if name != RANDOM:  # which is a mean over seeds
            system["two_way_intervals"] = {part: {metric: [0.125, 0.875] for metric in METRICS} for part in PARTITIONS}
        area = {"value": 0.5 + place / 16, "low": 0.4375 + place / 16, "high": 0.5625 + place / 16}
        system["message_auc"] = {part: {**area, "n_cns": 3, "n_pairs": 12 + place} for part in PARTITIONS}
    systems[LONGEST]["message_auc"]["bronze"] = {"value": None, "low": None, "high": None, "n_cns": 0, "n_pairs": 0}
    result["chance"]["judged_only"] = {part: dict.fromkeys(METRICS, 0.1875) for part in PARTITIONS}
    for row in result["comparisons"][:2]:
        row |= {"two_way": [-0.5, 0.75], "judged_only": {"difference": 0.0625, "low": -0.25, "high": 0.375}}
    ends = {"low": 0.25, "high": 0.5}
    result["message_auc_differences"] = [
        {"a": BM25, "b": AWKWARD, "partition": part, "difference": difference, **ends}
        for part, difference in zip(PARTITIONS, (0.5, 0.375, None, 0.4375), strict=True)
    ]
    return result


def labelled_details() -> dict[str, Any]:
    """The details of the example; the baselines rank as `random` does."""
    details = example_details()
    baselines = (POPULARITY, LONGEST)
    return details | {
        part: details[part] | dict.fromkeys(baselines, details[part][RANDOM]) for part in ("runs", "per_query")
    }
