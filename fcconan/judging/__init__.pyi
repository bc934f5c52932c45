from .audit.analysis import (
    audit_judge as audit_judge,
)
from .background import (
    KnownKnowledge as KnownKnowledge,
    Passages as Passages,
)
from .calibration import (
    calibrate as calibrate,
    load_steps as load_steps,
)
from .comparison.judge import (
    COMPARISON_COLUMNS as COMPARISON_COLUMNS,
    compare_pairs as compare_pairs,
    comparison_calls as comparison_calls,
)
from .comparison.pairs import (
    ReplyPair as ReplyPair,
    all_pairs as all_pairs,
    budgeted_pairs as budgeted_pairs,
)
from .comparison.protocols import (
    FAST_TOKENS as FAST_TOKENS,
    ChoiceJudge as ChoiceJudge,
    JudgeLM as JudgeLM,
)
from .comparison.summary import (
    ComparisonSummary as ComparisonSummary,
)
from .learned.features import (
    compute_features as compute_features,
)
from .learned.files import (
    load_rater as load_rater,
    rater_name as rater_name,
)
from .learned.folds import (
    fold_numbers as fold_numbers,
)
from .learned.judge import (
    LEARNED_COLUMNS as LEARNED_COLUMNS,
    FeatureRatings as FeatureRatings,
    LearnedJudge as LearnedJudge,
)
from .learned.rated_texts import (
    RatedAspect as RatedAspect,
    make_rated_texts as make_rated_texts,
)
from .learned.regression import (
    check_number_of_ratings as check_number_of_ratings,
)
from .learned.training import (
    BANNER as BANNER,
    OUT_OF_FOLD_RATINGS as OUT_OF_FOLD_RATINGS,
    TrainingData as TrainingData,
    train_rater as train_rater,
)
from .prompts import (
    PromptTemplate as PromptTemplate,
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
from .rubric_drafts import (
    draft_rubric as draft_rubric,
)
from .rubrics import (
    load_rubric as load_rubric,
)
from .strategies import (
    TEXTS as TEXTS,
    RatingPlan as RatingPlan,
    RatingQuestion as RatingQuestion,
)
from .streams import (
    match_answers as match_answers,
)
from .tasks import (
    Aspect as Aspect,
    Task as Task,
    dump_task as dump_task,
    load_task as load_task,
)
