from .decoding import (
    Decoding as Decoding,
    decoding_names as decoding_names,
    load_decoding as load_decoding,
)
from .examples import (
    Examples as Examples,
)
from .finetuning import (
    finetune as finetune,
)
from .generators import (
    Generator as Generator,
    ModelGenerator as ModelGenerator,
    ReferenceGenerator as ReferenceGenerator,
)
from .items import (
    GENERATED as GENERATED,
    Item as Item,
    describe_messages as describe_messages,
    load_items as load_items,
)
from .prompts import (
    load_generation_prompt as load_generation_prompt,
    prompt_names as prompt_names,
)
from .requests import (
    DEFAULT_PROMPTS as DEFAULT_PROMPTS,
    NO_BACKGROUND as NO_BACKGROUND,
    USUAL_DECODING as USUAL_DECODING,
    GenerationPlan as GenerationPlan,
    check_prompt as check_prompt,
)
from .retrieval_baseline import (
    NO_CANDIDATES as NO_CANDIDATES,
    RetrievalGenerator as RetrievalGenerator,
)
from .splits import (
    open_split as open_split,
)
from .training_pool import (
    TrainingPool as TrainingPool,
    load_pool as load_pool,
)
from .writing import (
    ReplyCounts as ReplyCounts,
    generate_rows as generate_rows,
)
