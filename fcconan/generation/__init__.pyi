from .candidates import (
    BestOf as BestOf,
    Pick as Pick,
    UnratedChoice as UnratedChoice,
    check_judged as check_judged,
)
from .cards import (
    CARD_COLUMNS as CARD_COLUMNS,
    card_path as card_path,
    counts_of as counts_of,
    dataset_of as dataset_of,
    packages_of as packages_of,
    write_card as write_card,
)
from .decoding import (
    Decoding as Decoding,
    decoding_names as decoding_names,
    load_decoding as load_decoding,
)
from .examples import (
    Examples as Examples,
)
from .finetuning.data import (
    prepare_pairs as prepare_pairs,
)
from .finetuning.model import (
    Base as Base,
)
from .finetuning.run import (
    DIVERGED as DIVERGED,
)
from .finetuning.search import (
    Finetuner as Finetuner,
    Lesson as Lesson,
)
from .finetuning.settings import (
    Finetuning as Finetuning,
    load_finetuning as load_finetuning,
    preset_names as preset_names,
)
from .generators import (
    CatalogueGenerator as CatalogueGenerator,
    Generator as Generator,
    ModelGenerator as ModelGenerator,
    References as References,
)
from .imported_replies import (
    IMPORTED_STRATEGY as IMPORTED_STRATEGY,
    ImportedReplies as ImportedReplies,
)
from .items import (
    GENERATED as GENERATED,
    Item as Item,
    Row as Row,
    load_items as load_items,
)
from .prompts import (
    GenerationPrompt as GenerationPrompt,
    load_generation_prompt as load_generation_prompt,
    prompt_names as prompt_names,
)
from .requests import (
    DEFAULT_PROMPTS as DEFAULT_PROMPTS,
    NO_BACKGROUND as NO_BACKGROUND,
    NO_CANDIDATES as NO_CANDIDATES,
    USUAL_DECODING as USUAL_DECODING,
    Plan as Plan,
    check_prompt as check_prompt,
)
from .retrieval_baseline import (
    Catalogue as Catalogue,
)
from .safety import (
    FLAGS as FLAGS,
    flags_of as flags_of,
)
from .splits import (
    open_part as open_part,
)
from .suites.rows import (
    join_judgements as join_judgements,
    judges_of as judges_of,
    missing_in as missing_in,
    replies_of as replies_of,
    stand_ins as stand_ins,
    write_replies as write_replies,
)
from .suites.steps import (
    Steps as Steps,
    content_of as content_of,
    key_of as key_of,
)
from .suites.suite import (
    LEXICAL as LEXICAL,
    ComparisonConfig as ComparisonConfig,
    LoadedSuite as LoadedSuite,
    RatingConfig as RatingConfig,
    suite_path as suite_path,
    with_digests as with_digests,
)
from .training_pool import (
    Pool as Pool,
    RefusedPairsError as RefusedPairsError,
    load_pool as load_pool,
)
from .writing import (
    Tally as Tally,
    generate_rows as generate_rows,
    row_maker as row_maker,
)
