from .building import (
    build as build,
    load_recipe as load_recipe,
)
from .errors import (
    InputError as InputError,
)
from .judging import (
    Judge as Judge,
)
from .parsing import (
    AspectField as AspectField,
    parse_comparison as parse_comparison,
    parse_multi as parse_multi,
    parse_rating as parse_rating,
)
from .retrieval import (
    Retriever as Retriever,
)
from .scoring import (
    RatedReplies as RatedReplies,
    ScoreTable as ScoreTable,
    correlate as correlate,
    evaluate_run as evaluate_run,
    rank_systems as rank_systems,
    score_texts as score_texts,
)
from .services import (
    AdjudicateOptions as AdjudicateOptions,
    AdjudicateResult as AdjudicateResult,
    AgreeOptions as AgreeOptions,
    AgreeResult as AgreeResult,
    AssignOptions as AssignOptions,
    AssignResult as AssignResult,
    BenchOptions as BenchOptions,
    BenchResult as BenchResult,
    DemoOptions as DemoOptions,
    DemoResult as DemoResult,
    ImportOptions as ImportOptions,
    ImportResult as ImportResult,
    LeaderboardOptions as LeaderboardOptions,
    LeaderboardResult as LeaderboardResult,
    QueueOptions as QueueOptions,
    QueueResult as QueueResult,
    RankOptions as RankOptions,
    RankResult as RankResult,
    RaterQualityOptions as RaterQualityOptions,
    RaterQualityResult as RaterQualityResult,
    ReportOptions as ReportOptions,
    ReportResult as ReportResult,
    RetrieverTrainingOptions as RetrieverTrainingOptions,
    RetrieverTrainingResult as RetrieverTrainingResult,
    RosterOptions as RosterOptions,
    RosterResult as RosterResult,
    SheetOptions as SheetOptions,
    SheetResult as SheetResult,
    StatusOptions as StatusOptions,
    StatusResult as StatusResult,
    TierOptions as TierOptions,
    TierResult as TierResult,
    ValidateOptions as ValidateOptions,
    ValidateResult as ValidateResult,
    adjudicate as adjudicate,
    agree as agree,
    assign as assign,
    bench as bench,
    campaign_status as campaign_status,
    check_raters as check_raters,
    export_sheets as export_sheets,
    import_answers as import_answers,
    leaderboard as leaderboard,
    queue_units as queue_units,
    rank as rank,
    report as report,
    run_demo as run_demo,
    tier as tier,
    train_retriever as train_retriever,
    update_raters as update_raters,
    validate as validate,
)

__version__: str
__all__: list[str]
