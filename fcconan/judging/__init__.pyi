from .auditing import (
    audit as audit,
)
from .background import (
    Passages as Passages,
)
from .calibration import (
    calibrate as calibrate,
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
    TEXTS as TEXTS,
    PromptTemplate as PromptTemplate,
    load_prompt as load_prompt,
    prompt_variables as prompt_variables,
    rating_prompt as rating_prompt,
    rating_schema as rating_schema,
)
from .rating import (
    Judge as Judge,
    rate as rate,
)
from .rubric_drafts import (
    draft_rubric as draft_rubric,
)
from .tasks import (
    Aspect as Aspect,
    Task as Task,
    dump_task as dump_task,
    load_rubric as load_rubric,
    load_task as load_task,
)
