"""Names of metrics and systems in reports of a benchmark, and notes on reference systems."""

from collections.abc import Mapping, Sequence
from typing import Any

from fcconan.retrieval import ranked_systems

TITLES = {
    "hit_rate": "Hit ratio",
    "mrr": "MRR",
    "ndcg": "NDCG",
    "map": "MAP",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "accuracy": "Accuracy",
    "average": "average",
}
CHANCE = "(chance)"
Result = Mapping[str, Any]


def metric_title(metric: str) -> str:
    """Returns the name of a metric for people: `hit_rate@10` is `Hit ratio@10`."""
    name, at, cutoff = metric.partition("@")
    return TITLES.get(name, name) + at + cutoff


def percent(result: Result) -> str:
    """Returns the confidence of the intervals for people, such as `95%`."""
    return f"{100 * result['settings']['confidence']:g}%"


def is_reference(result: Result, name: str) -> bool:
    """Returns whether a system ignores the message: its values are shown as references, as those of chance are."""
    return bool(result["systems"][name].get("ignores_message"))


def mark(result: Result, name: str) -> str:
    """Returns the properties of a system that its readers need, such as `uses labels, ignores the message`."""
    system = result["systems"][name]
    said = ["uses labels"] if system.get("uses_labels") else []
    return ", ".join([*said, "ignores the message"] if system.get("ignores_message") else said)


def marked(result: Result, name: str, *, counts: bool = True) -> str:
    """Returns the name of a system with its mark.

    Args:
        result: The benchmark's result.
        name: The system.
        counts: Whether the number of HS of its results is added if it failed on some.
    """
    n_queries = result["dataset"]["n_queries"]
    n_failed = len(result["systems"][name].get("failures") or {}) if counts else 0
    said = [mark(result, name), f"{n_queries - n_failed} of {n_queries} HS" if n_failed else ""]
    return f"{name} ({'; '.join(filter(None, said))})" if any(said) else name


def reference_rows(result: Result, rows: Sequence[Sequence[str]]) -> list[int]:
    """Returns the places of the rows of a table that are references: chance, and systems that ignore the message."""
    names = {CHANCE}
    for name in filter(lambda each: is_reference(result, each), result["systems"]):
        names |= {name, marked(result, name), marked(result, name, counts=False)}
    return [place for place, row in enumerate(rows) if row[0] in names]


def has(result: Result, key: str) -> bool:
    """Returns whether a system has values under a key; results of earlier versions lack some."""
    return any(system.get(key) for system in result["systems"].values())


def label_notes(result: Result) -> list[str]:
    """Returns explanations of reference systems, of values on judged pairs only and of the message AUC."""
    systems = ranked_systems(result)
    baselines = [name for name in systems if is_reference(result, name)]
    learnt = [name for name in systems if result["systems"][name].get("uses_labels")]
    said = []
    if baselines:
        said.append(
            f"References: {', '.join(marked(result, name, counts=False) for name in baselines)}. A system that scores "
            "no higher has not shown that it reads the message."
        )
    if has(result, "judged_only"):
        said.append(
            "Judged only: for each HS, CNs without a judgement are removed from rankings and catalogue, so that they "
            "do not lower a score."
        )
    if has(result, "message_auc"):
        said.append(
            "Message AUC: probability that a CN scores higher for an HS to which it is appropriate than for another "
            "HS. A system that ignores the message has 0.5."
        )
    if said:
        limits = ["if annotators were assigned by CN, generic replies cannot be distinguished from lenient annotators"]
        if popular := [name for name in learnt if is_reference(result, name)]:
            limits.append(f"{', '.join(popular)} cannot rank a CN without a judgement")
        said.append(f"Limits: {'; '.join(limits)}.")
    return said
