from .candidates import (
    BestOf as BestOf,
    CandidateSelector as CandidateSelector,
    UnratedChoice as UnratedChoice,
    check_selection_judge as check_selection_judge,
)
from .cards import (
    CARD_COLUMNS as CARD_COLUMNS,
    card_path as card_path,
    describe_messages as describe_messages,
    package_versions as package_versions,
    table_rows as table_rows,
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
from .generators import (
    Generator as Generator,
    ModelGenerator as ModelGenerator,
    ReferenceGenerator as ReferenceGenerator,
    RetrievalGenerator as RetrievalGenerator,
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
    GenerationPlan as GenerationPlan,
    check_prompt as check_prompt,
)
from .retrieval_baseline import (
    RetrievedCandidates as RetrievedCandidates,
)
from .safety import (
    FLAGS as FLAGS,
    find_flags as find_flags,
)
from .splits import (
    open_split as open_split,
)
from .suites.rows import (
    complete_replies as complete_replies,
    count_missing as count_missing,
    join_judgements as join_judgements,
    model_raters as model_raters,
    placeholder_replies as placeholder_replies,
    write_replies as write_replies,
)
from .suites.steps import (
    StepCache as StepCache,
    cache_key as cache_key,
    content_hash as content_hash,
)
from .suites.suite import (
    ComparisonConfig as ComparisonConfig,
    LoadedSuite as LoadedSuite,
    RatingConfig as RatingConfig,
    suite_path as suite_path,
    with_content_hashes as with_content_hashes,
)
from .training_pool import (
    RefusedPairsError as RefusedPairsError,
    TrainingPool as TrainingPool,
    load_pool as load_pool,
)
from .writing import (
    ReplyCounts as ReplyCounts,
    generate_rows as generate_rows,
    row_maker as row_maker,
)
