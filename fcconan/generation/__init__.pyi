from .candidates import (
    BestOf as BestOf,
)
from .candidates import (
    First as First,
)
from .candidates import (
    Pick as Pick,
)
from .candidates import (
    Random as Random,
)
from .candidates import (
    check_judged as check_judged,
)
from .cards import (
    COUNTED as COUNTED,
)
from .cards import (
    card_path as card_path,
)
from .cards import (
    counts_of as counts_of,
)
from .cards import (
    dataset_of as dataset_of,
)
from .cards import (
    packages_of as packages_of,
)
from .cards import (
    write_card as write_card,
)
from .decoding import (
    Decoding as Decoding,
)
from .decoding import (
    load_decoding as load_decoding,
)
from .examples import (
    Examples as Examples,
)
from .finetuning.data import (
    RefusedPairsError as RefusedPairsError,
)
from .finetuning.data import (
    prepare as prepare,
)
from .finetuning.model import (
    Base as Base,
)
from .finetuning.run import (
    DIVERGED as DIVERGED,
)
from .finetuning.search import (
    Finetuner as Finetuner,
)
from .finetuning.search import (
    Lesson as Lesson,
)
from .finetuning.settings import (
    Finetuning as Finetuning,
)
from .finetuning.settings import (
    load_finetuning as load_finetuning,
)
from .generators import (
    PASSING as PASSING,
)
from .generators import (
    CatalogueGenerator as CatalogueGenerator,
)
from .generators import (
    Generator as Generator,
)
from .generators import (
    ModelGenerator as ModelGenerator,
)
from .generators import (
    References as References,
)
from .imported_replies import (
    STRATEGY as STRATEGY,
)
from .imported_replies import (
    ImportedReplies as ImportedReplies,
)
from .item import (
    GENERATED as GENERATED,
)
from .item import (
    Item as Item,
)
from .item import (
    Row as Row,
)
from .items import (
    load_items as load_items,
)
from .prompts import (
    GenerationPrompt as GenerationPrompt,
)
from .prompts import (
    load_generation_prompt as load_generation_prompt,
)
from .requests import (
    NO_BACKGROUND as NO_BACKGROUND,
)
from .requests import (
    NO_CANDIDATES as NO_CANDIDATES,
)
from .requests import (
    PROMPTS as PROMPTS,
)
from .requests import (
    USUAL_DECODING as USUAL_DECODING,
)
from .requests import (
    Plan as Plan,
)
from .requests import (
    check_prompt as check_prompt,
)
from .retrieval_baseline import (
    Catalogue as Catalogue,
)
from .safety.flags import (
    FLAGS as FLAGS,
)
from .safety.flags import (
    flags_of as flags_of,
)
from .splits import (
    open_part as open_part,
)
from .suites.rows import (
    join_comparisons as join_comparisons,
)
from .suites.rows import (
    join_ratings as join_ratings,
)
from .suites.rows import (
    judges_of as judges_of,
)
from .suites.rows import (
    missing_in as missing_in,
)
from .suites.rows import (
    replies_of as replies_of,
)
from .suites.rows import (
    stand_ins as stand_ins,
)
from .suites.rows import (
    write_replies as write_replies,
)
from .suites.steps import (
    Steps as Steps,
)
from .suites.steps import (
    alone as alone,
)
from .suites.steps import (
    content_of as content_of,
)
from .suites.steps import (
    key_of as key_of,
)
from .suites.suite import (
    LEXICAL as LEXICAL,
)
from .suites.suite import (
    ComparisonConfig as ComparisonConfig,
)
from .suites.suite import (
    LoadedSuite as LoadedSuite,
)
from .suites.suite import (
    RatingConfig as RatingConfig,
)
from .suites.suite import (
    known as known,
)
from .suites.suite import (
    suite_path as suite_path,
)
from .training_pool import (
    Pool as Pool,
)
from .training_pool import (
    load_pool as load_pool,
)
from .writing import (
    Tally as Tally,
)
from .writing import (
    generate_rows as generate_rows,
)
from .writing import (
    row_maker as row_maker,
)
