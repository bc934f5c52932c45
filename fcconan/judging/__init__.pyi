from .audit.analysis import (
    audit_judge as audit_judge,
)
from .audit.intervals import (
    codes_of as codes_of,
)
from .audit.intervals import (
    share_interval as share_interval,
)
from .audit.intervals import (
    wilson as wilson,
)
from .background import (
    KnownKnowledge as KnownKnowledge,
)
from .background import (
    Passages as Passages,
)
from .calibration.data import (
    Example as Example,
)
from .calibration.data import (
    Parts as Parts,
)
from .calibration.data import (
    split as split,
)
from .calibration.rater import (
    StepsRater as StepsRater,
)
from .calibration.search import (
    calibrate as calibrate,
)
from .calibration.settings import (
    Calibration as Calibration,
)
from .calibration.settings import (
    Settings as Settings,
)
from .calibration.settings import (
    load_steps as load_steps,
)
from .comparison.context import (
    ContextBudget as ContextBudget,
)
from .comparison.judge import (
    COLUMNS as COLUMNS,
)
from .comparison.judge import (
    ComparisonResult as ComparisonResult,
)
from .comparison.judge import (
    compare as compare,
)
from .comparison.pairs import (
    Pair as Pair,
)
from .comparison.pairs import (
    all_pairs as all_pairs,
)
from .comparison.pairs import (
    budgeted_pairs as budgeted_pairs,
)
from .comparison.protocols import (
    FAST_TOKENS as FAST_TOKENS,
)
from .comparison.protocols import (
    ChoiceJudge as ChoiceJudge,
)
from .comparison.protocols import (
    JudgeLM as JudgeLM,
)
from .comparison.summary import (
    ComparisonSummary as ComparisonSummary,
)
from .lexical import (
    LexicalJudge as LexicalJudge,
)
from .panel import (
    RULES as RULES,
)
from .panel import (
    rate_together as rate_together,
)
from .people import (
    mean_of_people as mean_of_people,
)
from .prompts import (
    Prompt as Prompt,
)
from .prompts import (
    dump_prompt as dump_prompt,
)
from .prompts import (
    load_prompt as load_prompt,
)
from .rating import (
    LABELLED as LABELLED,
)
from .rating import (
    RATED as RATED,
)
from .rating import (
    RETRIED as RETRIED,
)
from .rating import (
    Judge as Judge,
)
from .rating import (
    ModelJudge as ModelJudge,
)
from .rating import (
    Row as Row,
)
from .rating_cache import (
    KeptRatings as KeptRatings,
)
from .replies import (
    UNKNOWN as UNKNOWN,
)
from .replies import (
    Replies as Replies,
)
from .replies import (
    files_of as files_of,
)
from .replies import (
    load_replies as load_replies,
)
from .rubric_drafts import (
    draft_rubric as draft_rubric,
)
from .rubrics import (
    load_rubric as load_rubric,
)
from .strategies import (
    TEXTS as TEXTS,
)
from .strategies import (
    Plan as Plan,
)
from .strategies import (
    Question as Question,
)
from .summaries import (
    RatingSummary as RatingSummary,
)
from .tasks import (
    Aspect as Aspect,
)
from .tasks import (
    Task as Task,
)
from .tasks import (
    dump_task as dump_task,
)
from .tasks import (
    load_task as load_task,
)
