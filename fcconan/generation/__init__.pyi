from .finetuning.data import (
    prepare_pairs as prepare_pairs,
)
from .finetuning.model import (
    PretrainedModel as PretrainedModel,
)
from .finetuning.run import (
    DIVERGED as DIVERGED,
)
from .finetuning.search import (
    Finetuner as Finetuner,
    FinetuningData as FinetuningData,
)
from .finetuning.settings import (
    FinetuningSettings as FinetuningSettings,
    load_finetuning as load_finetuning,
    preset_names as preset_names,
)
from .generating import (
    generate as generate,
)
from .pairs import (
    find_examples as find_examples,
    leaking_pairs as leaking_pairs,
    read_messages as read_messages,
    read_pairs as read_pairs,
    retrieve as retrieve,
)
from .prompts import (
    generation_messages as generation_messages,
    load_decoding as load_decoding,
    load_generation_prompt as load_generation_prompt,
)
