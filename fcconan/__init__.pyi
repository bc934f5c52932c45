from .building import build as build, load_recipe as load_recipe
from .errors import InputError as InputError
from .judging import Judge as Judge
from .parsing import (
    AspectField as AspectField,
    parse_comparison as parse_comparison,
    parse_multi as parse_multi,
    parse_rating as parse_rating,
)
from .retrieval import Retriever as Retriever
from .scoring import (
    RatedReplies as RatedReplies,
    ScoreTable as ScoreTable,
    correlate as correlate,
    evaluate_run as evaluate_run,
    rank_systems as rank_systems,
    score_texts as score_texts,
)
from .services import (
    AnswerLog as AnswerLog,
    AnswerLogOptions as AnswerLogOptions,
    LeaderboardOptions as LeaderboardOptions,
    LeaderboardResult as LeaderboardResult,
    RankOptions as RankOptions,
    RankResult as RankResult,
    leaderboard as leaderboard,
    rank as rank,
    show_answers as show_answers,
)

__version__: str
__all__: list[str]
