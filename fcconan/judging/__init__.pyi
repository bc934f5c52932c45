from .auditing import (
    audit as audit,
)
from .background import (
    KnownKnowledge as KnownKnowledge,
    Passages as Passages,
)
from .calibration.data import (
    RatedExample as RatedExample,
    split_examples as split_examples,
)
from .calibration.dry_run import (
    dry_run_calibration as dry_run_calibration,
)
from .calibration.search import (
    StepsRater as StepsRater,
    search_steps as search_steps,
)
from .calibration.settings import (
    Calibration as Calibration,
    CalibrationSettings as CalibrationSettings,
    load_steps as load_steps,
)
from .comparison import (
    compare as compare,
    draw_pairs as draw_pairs,
    reply_pairs as reply_pairs,
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
from .people import (
    human_means as human_means,
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
from .rubrics import (
    draft_rubric as draft_rubric,
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
