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
    evaluate_run as evaluate_run,
    rank_systems as rank_systems,
    score_texts as score_texts,
)
from .services import (
    AgreeOptions as AgreeOptions,
    AgreeResult as AgreeResult,
    AnswerLog as AnswerLog,
    AnswerLogOptions as AnswerLogOptions,
    CorrelateOptions as CorrelateOptions,
    CorrelateResult as CorrelateResult,
    FinetuneOptions as FinetuneOptions,
    FinetuneResult as FinetuneResult,
    GenerateOptions as GenerateOptions,
    GenerateResult as GenerateResult,
    LeaderboardOptions as LeaderboardOptions,
    LeaderboardResult as LeaderboardResult,
    MetricsOptions as MetricsOptions,
    MetricsResult as MetricsResult,
    RankOptions as RankOptions,
    RankResult as RankResult,
    agree as agree,
    correlate as correlate,
    finetune as finetune,
    generate as generate,
    leaderboard as leaderboard,
    metrics as metrics,
    rank as rank,
    show_answers as show_answers,
)

__version__: str
__all__: list[str]
