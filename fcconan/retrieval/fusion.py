"""Rank fusion with ranx."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fcconan.retrieval.systems import Rankings, Retriever, rank_all

Method = Literal["rrf", "sum", "mnz", "max", "min", "med", "anz", "isr", "log_isr", "bordafuse", "condorcet"]
Norm = Literal["min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda"]
RANK_BASED = ("rrf", "isr", "log_isr", "bordafuse", "condorcet")


class Fusion:
    """Fuses the rankings of several systems.

    Args:
        name: Name of the system.
        systems: Two or more systems.
        method: Fusion method of ranx without parameters, such as `rrf` (reciprocal rank fusion) or `sum` (CombSUM).
        norm: Score normalisation of ranx; unused by rank-based methods.
    """

    def __init__(
        self, name: str, systems: Sequence[Retriever], *, method: Method = "rrf", norm: Norm = "min-max"
    ) -> None:
        self.name, self.systems, self.method = name, list(systems), method
        self.norm = None if method in RANK_BASED else norm
        parts = [(system.name, getattr(system, "configuration", None)) for system in systems]
        self.configuration: dict[str, Any] | None = {
            "kind": "fusion",
            "library": "ranx",
            "method": method,
            "norm": self.norm,
            "systems": [{"name": part, "configuration": configuration} for part, configuration in parts],
        }
        if any(configuration is None for _, configuration in parts):
            self.configuration = None

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks with each system to depth k, and fuses the rankings."""
        parts = [rank_all(system, queries, corpus, k) for system in self.systems]
        failures = {query: reason for part in parts for query, reason in part.failures.items()}
        explained = {query: explanation for part in parts for query, explanation in part.explained.items()}
        ranked = [query for query in queries if query not in failures and any(part.get(query) for part in parts)]
        fused = _fuse([{query: part.get(query, []) for query in ranked} for part in parts], self.method, self.norm)
        position = {key: index for index, key in enumerate(corpus)}
        ordered = {
            query: sorted(fused[query].items(), key=lambda entry: (-entry[1], position[entry[0]]))[:k]
            for query in ranked
        }
        return Rankings(
            ordered,
            failures=failures,
            explained=explained,
            diagnostics={part.name: found.diagnostics for part, found in zip(self.systems, parts, strict=True)},
            resolved={part.name: found.resolved for part, found in zip(self.systems, parts, strict=True)},
        )


def _fuse(
    runs: Sequence[Mapping[str, Sequence[tuple[str, float]]]], method: str, norm: str | None
) -> dict[str, dict[str, float]]:
    """Fuses runs with the same queries; each query has an entry in at least one run."""
    if not runs[0]:
        return {}
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of numba, which ranx uses
        from ranx import Run, fuse

        # ranx rejects empty rankings: a placeholder document fills them and is removed after fusion.
        placeholder = "\x00nothing"
        ranx_runs = [
            Run({query: dict(ranking) or {placeholder: 0.0} for query, ranking in run.items()}, name=f"system-{index}")
            for index, run in enumerate(runs)
        ]
        fused = fuse(ranx_runs, norm=norm, method=method).to_dict()
    return {
        query: {key: float(score) for key, score in scores.items() if key != placeholder}
        for query, scores in fused.items()
    }
