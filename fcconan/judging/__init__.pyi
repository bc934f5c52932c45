from .audit.analysis import (
    audit_judge as audit_judge,
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
from .learned import (
    rate_learned as rate_learned,
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
