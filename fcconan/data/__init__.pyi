from .atomic import (
    new_file as new_file,
    new_folder as new_folder,
    write_whole as write_whole,
)
from .columns import (
    JUDGEMENT as JUDGEMENT,
    TEXTS as TEXTS,
    UNKNOWN as UNKNOWN,
    first_column as first_column,
)
from .content import (
    card_template_path as card_template_path,
    catalogue_entry as catalogue_entry,
    check_names as check_names,
    content_folder as content_folder,
    count_noun as count_noun,
    did_you_mean as did_you_mean,
    read_yaml as read_yaml,
    recipe_names as recipe_names,
    recipe_path as recipe_path,
    task_names as task_names,
    task_path as task_path,
    tier_rule_names as tier_rule_names,
    tier_rule_path as tier_rule_path,
)
from .descriptions import (
    CONFIGS as CONFIGS,
    describe_column as describe_column,
    describe_config as describe_config,
)
from .files import (
    SUFFIXES as SUFFIXES,
    read_file as read_file,
    read_rows as read_rows,
    read_table as read_table,
    read_text as read_text,
)
from .ids import (
    NORMALISATION_VERSION as NORMALISATION_VERSION,
    cell_list as cell_list,
    cell_text as cell_text,
    decode_conan_id as decode_conan_id,
    file_sha256 as file_sha256,
    is_blank as is_blank,
    is_missing as is_missing,
    make_cn_id as make_cn_id,
    make_hs_id as make_hs_id,
    make_item_id as make_item_id,
    make_pair_id as make_pair_id,
    make_reply_id as make_reply_id,
    name_with_hash as name_with_hash,
    normalise as normalise,
    short_hash as short_hash,
)
from .leakage import (
    LeakageIndex as LeakageIndex,
    connected_groups as connected_groups,
    leakage_groups as leakage_groups,
    message_codes as message_codes,
    message_leakage_keys as message_leakage_keys,
    simplify_text as simplify_text,
)
from .locks import (
    locked as locked,
)
from .manifest import (
    CARD as CARD,
    FORMAT as FORMAT,
    MANIFEST as MANIFEST,
    hub_release as hub_release,
    is_hub_name as is_hub_name,
    quiet_hub as quiet_hub,
    read_manifest as read_manifest,
    release_folder as release_folder,
)
from .messages import (
    one_line as one_line,
    printable as printable,
    show_traceback as show_traceback,
    without_secrets as without_secrets,
)
from .reader import (
    RowSource as RowSource,
    add_replies as add_replies,
    read as read,
    reply_texts as reply_texts,
)
from .schemas import (
    ABOUT_REPLY as ABOUT_REPLY,
    ALLOWED_VALUES as ALLOWED_VALUES,
    COMPARED as COMPARED,
    COMPARISON as COMPARISON,
    DTYPES as DTYPES,
    GENERATED as GENERATED,
    LABELLED as LABELLED,
    LABELS as LABELS,
    LEARNED as LEARNED,
    LIST_TYPES as LIST_TYPES,
    NAME as NAME,
    NAMES as NAMES,
    PAIR as PAIR,
    PUBLISHED as PUBLISHED,
    QRELS as QRELS,
    RATED as RATED,
    RATER_KINDS as RATER_KINDS,
    RATING as RATING,
    REPLY as REPLY,
    RESTRICTED_TYPES as RESTRICTED_TYPES,
    TEXT_BY_ID as TEXT_BY_ID,
    TEXT_COLUMNS as TEXT_COLUMNS,
    TIERS as TIERS,
    VERDICTS as VERDICTS,
    VOTE as VOTE,
    VOTE_LABELS as VOTE_LABELS,
    Columns as Columns,
    feature_specification as feature_specification,
    find_column as find_column,
    without_text as without_text,
)
from .sources import (
    Model as Model,
    Source as Source,
    cache_folder as cache_folder,
    fetch as fetch,
    fetch_all as fetch_all,
    is_available as is_available,
)
