from .finetuning import (
    finetune as finetune,
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
