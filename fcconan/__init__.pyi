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
    AuditOptions as AuditOptions,
    AuditResult as AuditResult,
    CalibrateOptions as CalibrateOptions,
    CalibrateResult as CalibrateResult,
    CompareOptions as CompareOptions,
    CompareResult as CompareResult,
    CorrelateOptions as CorrelateOptions,
    CorrelateResult as CorrelateResult,
    FinetuneOptions as FinetuneOptions,
    FinetuneResult as FinetuneResult,
    GenerateOptions as GenerateOptions,
    GenerateResult as GenerateResult,
    GeneratorSuiteOptions as GeneratorSuiteOptions,
    GeneratorSuiteResult as GeneratorSuiteResult,
    LeaderboardOptions as LeaderboardOptions,
    LeaderboardResult as LeaderboardResult,
    MetricsOptions as MetricsOptions,
    MetricsResult as MetricsResult,
    PromptOptions as PromptOptions,
    PromptResult as PromptResult,
    RankOptions as RankOptions,
    RankResult as RankResult,
    RateOptions as RateOptions,
    RateResult as RateResult,
    RubricOptions as RubricOptions,
    RubricResult as RubricResult,
    agree as agree,
    audit as audit,
    calibrate as calibrate,
    compare as compare,
    correlate as correlate,
    draft_rubric as draft_rubric,
    evaluate_generators as evaluate_generators,
    finetune as finetune,
    generate as generate,
    leaderboard as leaderboard,
    metrics as metrics,
    rank as rank,
    rate as rate,
    show_answers as show_answers,
    show_prompt as show_prompt,
)

__version__: str
__all__: list[str]
