from .auditing import (
    audit as audit,
)
from .background import (
    KnownKnowledge as KnownKnowledge,
    Passages as Passages,
)
from .calibration import (
    calibrate as calibrate,
    load_steps as load_steps,
)
from .comparison import (
    compare as compare,
    draw_pairs as draw_pairs,
    reply_pairs as reply_pairs,
)
from .learned import (
    rate_learned as rate_learned,
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
