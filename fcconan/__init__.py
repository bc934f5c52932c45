"""Build counter-narrative datasets and measure the systems that retrieve, generate and judge them.

Importing this package is cheap: every name below is loaded on first use, so that neither `datasets` nor any
machine-learning library is imported before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fcconan.building.builds import build, load_recipe
    from fcconan.errors import InputError
    from fcconan.judging.rating import Judge
    from fcconan.parsing.parsers import AspectField, parse_comparison, parse_multi, parse_rating
    from fcconan.retrieval.systems import Retriever
    from fcconan.scoring.correlation.analysis import correlate
    from fcconan.scoring.ratings import RatedReplies
    from fcconan.scoring.retrieval.evaluation import evaluate_run
    from fcconan.scoring.score_table import ScoreTable
    from fcconan.scoring.text.evaluation import score_texts
    from fcconan.scoring.tournament.ranking import rank_systems

__all__ = [
    "AspectField",
    "InputError",
    "Judge",
    "RatedReplies",
    "Retriever",
    "ScoreTable",
    "__version__",
    "build",
    "correlate",
    "evaluate_run",
    "load_recipe",
    "parse_comparison",
    "parse_multi",
    "parse_rating",
    "rank_systems",
    "score_texts",
]

_HOMES = {
    "load_recipe": "fcconan.build",
    "InputError": "fcconan.errors",
    "AspectField": "fcconan.parsing.parsers",
    "parse_comparison": "fcconan.parsing.parsers",
    "parse_multi": "fcconan.parsing.parsers",
    "parse_rating": "fcconan.parsing.parsers",
    "Judge": "fcconan.judging.rating",
    "Retriever": "fcconan.retrieval.systems",
    "correlate": "fcconan.scoring.correlation.analysis",
    "evaluate_run": "fcconan.scoring.retrieval.evaluation",
    "RatedReplies": "fcconan.scoring.ratings",
    "ScoreTable": "fcconan.scoring.score_table",
    "score_texts": "fcconan.scoring.text.evaluation",
    "rank_systems": "fcconan.scoring.tournament.ranking",
}


def __getattr__(name: str) -> Any:
    if name == "build":  # the subpackage, which can be called: importing it would put it in this place anyway
        return import_module("fcconan.build")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fcconan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
