from .building import build as build
from .building import load_recipe as load_recipe
from .errors import InputError as InputError
from .judging import Judge as Judge
from .parsing import AspectField as AspectField
from .parsing import parse_comparison as parse_comparison
from .parsing import parse_multi as parse_multi
from .parsing import parse_rating as parse_rating
from .retrieval import Retriever as Retriever
from .scoring import RatedReplies as RatedReplies
from .scoring import ScoreTable as ScoreTable
from .scoring import correlate as correlate
from .scoring import evaluate_run as evaluate_run
from .scoring import rank_systems as rank_systems
from .scoring import score_texts as score_texts

__version__: str
__all__: list[str]
