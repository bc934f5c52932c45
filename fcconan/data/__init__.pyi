from .addresses import (
    OPENAI_URL as OPENAI_URL,
)
from .addresses import (
    endpoint_address as endpoint_address,
)
from .addresses import (
    environment_secrets as environment_secrets,
)
from .addresses import (
    hub_address as hub_address,
)
from .addresses import (
    masked as masked,
)
from .addresses import (
    proxy_for as proxy_for,
)
from .addresses import (
    shown as shown,
)
from .addresses import (
    without_secrets as without_secrets,
)
from .atomic_files import (
    may_be_written as may_be_written,
)
from .atomic_files import (
    write_whole as write_whole,
)
from .atomic_folders import (
    new_stage as new_stage,
)
from .atomic_folders import (
    put_in_place as put_in_place,
)
from .checkpoints import (
    Checkpoint as Checkpoint,
)
from .checkpoints import (
    EntryLog as EntryLog,
)
from .checkpoints import (
    file_hash as file_hash,
)
from .checkpoints import (
    is_sealed as is_sealed,
)
from .checkpoints import (
    report as report,
)
from .checkpoints import (
    seal_folder as seal_folder,
)
from .conan_ids import (
    decode_conan_id as decode_conan_id,
)
from .content import (
    card_template_path as card_template_path,
)
from .content import (
    check_built as check_built,
)
from .content import (
    content_folder as content_folder,
)
from .content import (
    recipe_names as recipe_names,
)
from .content import (
    recipe_path as recipe_path,
)
from .content import (
    task_names as task_names,
)
from .content import (
    task_path as task_path,
)
from .content import (
    tier_rule_names as tier_rule_names,
)
from .content import (
    tier_rule_path as tier_rule_path,
)
from .forms import (
    MOST_WORDS as MOST_WORDS,
)
from .forms import (
    NAME as NAME,
)
from .forms import (
    NUMBER as NUMBER,
)
from .forms import (
    TEXT as TEXT,
)
from .forms import (
    VOCABULARY as VOCABULARY,
)
from .forms import (
    Form as Form,
)
from .forms import (
    is_name as is_name,
)
from .forms import (
    is_title as is_title,
)
from .forms import (
    unknown_words as unknown_words,
)
from .hub import (
    hub_error as hub_error,
)
from .hub import (
    limit_hub_wait as limit_hub_wait,
)
from .hub import (
    quiet_hub as quiet_hub,
)
from .hub_folders import (
    hub_release as hub_release,
)
from .hub_folders import (
    is_hub_name as is_hub_name,
)
from .hub_folders import (
    release_folder as release_folder,
)
from .ids import (
    NORMALISATION_VERSION as NORMALISATION_VERSION,
)
from .ids import (
    is_blank as is_blank,
)
from .ids import (
    make_cn_id as make_cn_id,
)
from .ids import (
    make_hs_id as make_hs_id,
)
from .ids import (
    make_item_id as make_item_id,
)
from .ids import (
    make_pair_id as make_pair_id,
)
from .ids import (
    make_reply_id as make_reply_id,
)
from .ids import (
    normalise as normalise,
)
from .ids import (
    short_hash as short_hash,
)
from .json_text import (
    parse_json as parse_json,
)
from .leakage import (
    Kinship as Kinship,
)
from .leakage import (
    codes_of_row as codes_of_row,
)
from .leakage import (
    kin_of as kin_of,
)
from .leakage import (
    simplified as simplified,
)
from .manifest import (
    CARD as CARD,
)
from .manifest import (
    FORMAT as FORMAT,
)
from .manifest import (
    MANIFEST as MANIFEST,
)
from .manifest import (
    read_manifest as read_manifest,
)
from .messages import (
    counted as counted,
)
from .messages import (
    did_you_mean as did_you_mean,
)
from .messages import (
    failed as failed,
)
from .parquet import (
    read_schema as read_schema,
)
from .parquet import (
    read_table as read_table,
)
from .row_files import (
    SUFFIXES as SUFFIXES,
)
from .row_files import (
    RowWriter as RowWriter,
)
from .row_files import (
    check_row_target as check_row_target,
)
from .row_files import (
    read_rows as read_rows,
)
from .row_files import (
    read_typed_rows as read_typed_rows,
)
from .row_ids import (
    cell_list as cell_list,
)
from .row_ids import (
    cell_number as cell_number,
)
from .row_ids import (
    cell_text as cell_text,
)
from .row_ids import (
    id_of as id_of,
)
from .row_ids import (
    is_missing as is_missing,
)
from .row_ids import (
    required_id as required_id,
)
from .row_ids import (
    with_ids as with_ids,
)
from .schemas import (
    AGREEMENTS as AGREEMENTS,
)
from .schemas import (
    ALLOWED as ALLOWED,
)
from .schemas import (
    COMPARED as COMPARED,
)
from .schemas import (
    COMPARISON as COMPARISON,
)
from .schemas import (
    DTYPES as DTYPES,
)
from .schemas import (
    GENERATED as GENERATED,
)
from .schemas import (
    LABELLED as LABELLED,
)
from .schemas import (
    LABELS as LABELS,
)
from .schemas import (
    LIST_TYPES as LIST_TYPES,
)
from .schemas import (
    PAIR as PAIR,
)
from .schemas import (
    PUBLISHED as PUBLISHED,
)
from .schemas import (
    QRELS as QRELS,
)
from .schemas import (
    RATED as RATED,
)
from .schemas import (
    RATER_KINDS as RATER_KINDS,
)
from .schemas import (
    RATING as RATING,
)
from .schemas import (
    REPLY as REPLY,
)
from .schemas import (
    RESTRICTED_TYPES as RESTRICTED_TYPES,
)
from .schemas import (
    TEXT_BY_ID as TEXT_BY_ID,
)
from .schemas import (
    TEXT_COLUMNS as TEXT_COLUMNS,
)
from .schemas import (
    TIERS as TIERS,
)
from .schemas import (
    VERDICTS as VERDICTS,
)
from .schemas import (
    VOTE as VOTE,
)
from .schemas import (
    VOTE_LABELS as VOTE_LABELS,
)
from .schemas import (
    Columns as Columns,
)
from .schemas import (
    column_of as column_of,
)
from .schemas import (
    feature_specification as feature_specification,
)
from .schemas import (
    without_text as without_text,
)
from .source_models import (
    Model as Model,
)
from .source_models import (
    Source as Source,
)
from .sources import (
    cache_folder as cache_folder,
)
from .sources import (
    fetch as fetch,
)
from .sources import (
    fetch_all as fetch_all,
)
from .sources import (
    is_here as is_here,
)
from .sources import (
    name_with_hash as name_with_hash,
)
from .sources import (
    sha256_of as sha256_of,
)
from .stale_files import (
    leftovers as leftovers,
)
from .stale_files import (
    mark as mark,
)
from .stale_files import (
    temporary_folder as temporary_folder,
)
from .terminal import (
    DEBUG as DEBUG,
)
from .terminal import (
    TRACEBACK as TRACEBACK,
)
from .terminal import (
    cleaned as cleaned,
)
from .terminal import (
    is_debugging as is_debugging,
)
from .terminal import (
    printable_name as printable_name,
)
from .terminal import (
    protect_streams as protect_streams,
)
from .terminal import (
    show_traceback as show_traceback,
)
from .terminal import (
    trusted as trusted,
)
from .yaml_files import (
    Location as Location,
)
from .yaml_files import (
    YamlFile as YamlFile,
)
from .yaml_files import (
    explain as explain,
)
