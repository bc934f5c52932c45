from .audit.analysis import (
    audit_judge as audit_judge,
)
from .audit.findings import (
    codes_of as codes_of,
    share_interval as share_interval,
    wilson as wilson,
)
from .background import (
    KnownKnowledge as KnownKnowledge,
    Passages as Passages,
)
from .benchmark.evaluation import (
    correlation_rows as correlation_rows,
    curve_rows as curve_rows,
    difference_rows as difference_rows,
    held_out_rows as held_out_rows,
    people_rows as people_rows,
)
from .benchmark.predictions import (
    JudgePredictions as JudgePredictions,
)
from .benchmark.rated_rows import (
    BenchmarkRows as BenchmarkRows,
    benchmark_rows as benchmark_rows,
)
from .benchmark.suites import (
    JudgeSuite as JudgeSuite,
    SuiteRows as SuiteRows,
    load_judge_suite as load_judge_suite,
)
from .calibration.data import (
    Example as Example,
    Parts as Parts,
    split as split,
)
from .calibration.rehearsal import (
    rehearse as rehearse,
)
from .calibration.search import (
    StepsRater as StepsRater,
    calibrate as calibrate,
)
from .calibration.settings import (
    Calibration as Calibration,
    Settings as Settings,
    load_steps as load_steps,
)
from .comparison.judge import (
    COMPARISON_COLUMNS as COMPARISON_COLUMNS,
    calls_about as calls_about,
    compare as compare,
)
from .comparison.pairs import (
    Pair as Pair,
    all_pairs as all_pairs,
    budgeted_pairs as budgeted_pairs,
)
from .comparison.protocols import (
    FAST_TOKENS as FAST_TOKENS,
    ChoiceJudge as ChoiceJudge,
    ContextBudget as ContextBudget,
    JudgeLM as JudgeLM,
)
from .comparison.summary import (
    ComparisonSummary as ComparisonSummary,
)
from .learned.cross_fitting import (
    FittedModels as FittedModels,
    cross_fit as cross_fit,
    fit as fit,
)
from .learned.features import (
    Features as Features,
    features_of as features_of,
    surface_features as surface_features,
)
from .learned.files import (
    load_rater as load_rater,
    name_of_folder as name_of_folder,
    save_rater as save_rater,
)
from .learned.folds import (
    FoldKey as FoldKey,
    fold_numbers as fold_numbers,
)
from .learned.judge import (
    LEARNED_COLUMNS as LEARNED_COLUMNS,
    FeatureRatings as FeatureRatings,
    LearnedJudge as LearnedJudge,
    learned_ratings as learned_ratings,
)
from .learned.rated_texts import (
    RatedAspect as RatedAspect,
    RatedTexts as RatedTexts,
    rated_texts as rated_texts,
)
from .learned.rater import (
    LearnedRater as LearnedRater,
    learned_rater as learned_rater,
)
from .learned.regression import (
    check_number_of_ratings as check_number_of_ratings,
    fit_space as fit_space,
)
from .learned.training import (
    BANNER as BANNER,
    OUT_OF_FOLD_RATINGS as OUT_OF_FOLD_RATINGS,
    TrainingData as TrainingData,
    train_rater as train_rater,
)
from .lexical import (
    LexicalJudge as LexicalJudge,
)
from .panel import (
    rate_together as rate_together,
)
from .people import (
    mean_of_people as mean_of_people,
)
from .prompts import (
    Prompt as Prompt,
    dump_prompt as dump_prompt,
    load_prompt as load_prompt,
)
from .rating import (
    LABELLED as LABELLED,
    RATED as RATED,
    Judge as Judge,
    ModelJudge as ModelJudge,
    RatingSummary as RatingSummary,
    Row as Row,
)
from .rubrics import (
    draft_rubric as draft_rubric,
    load_rubric as load_rubric,
)
from .strategies import (
    TEXTS as TEXTS,
    Plan as Plan,
    Question as Question,
)
from .streams import (
    answered as answered,
)
from .tasks import (
    Aspect as Aspect,
    Task as Task,
    dump_task as dump_task,
    load_task as load_task,
)
