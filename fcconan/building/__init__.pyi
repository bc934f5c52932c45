from .builds import (
    build as build,
)
from .builds import (
    build_tables as build_tables,
)
from .builds import (
    builder_of as builder_of,
)
from .builds import (
    rule_of as rule_of,
)
from .card_fields import (
    Card as Card,
)
from .card_fields import (
    read_card as read_card,
)
from .cards import (
    FURTHER_TAGS as FURTHER_TAGS,
)
from .cards import (
    REQUIRED as REQUIRED,
)
from .cards import (
    TAGS as TAGS,
)
from .cards import (
    card_metadata as card_metadata,
)
from .cards import (
    check_card as check_card,
)
from .cards import (
    restricted_columns as restricted_columns,
)
from .croissant_metadata import (
    croissant as croissant,
)
from .cross_product import (
    SCHEMA as SCHEMA,
)
from .cross_product import (
    dictionary as dictionary,
)
from .cross_product import (
    digest_of as digest_of,
)
from .cross_product import (
    open_writer as open_writer,
)
from .cross_product import (
    require_distinct as require_distinct,
)
from .hydration import (
    hydrate as hydrate,
)
from .kinds.campaign import (
    ABOUT_CN as ABOUT_CN,
)
from .kinds.campaign import (
    ABOUT_HS as ABOUT_HS,
)
from .kinds.campaign import (
    COLUMNS as COLUMNS,
)
from .kinds.campaign import (
    DISTINCT as DISTINCT,
)
from .kinds.campaign import (
    LEFT_OUT as LEFT_OUT,
)
from .kinds.ratings import (
    unified_score as unified_score,
)
from .quotations import (
    Texts as Texts,
)
from .recipes import (
    LANGUAGES as LANGUAGES,
)
from .recipes import (
    Recipe as Recipe,
)
from .recipes import (
    load_recipe as load_recipe,
)
from .releases import (
    check_target as check_target,
)
from .releases import (
    config_versions as config_versions,
)
from .releases import (
    fingerprint as fingerprint,
)
from .releases import (
    output_folder as output_folder,
)
from .releases import (
    table_bytes as table_bytes,
)
from .releases import (
    table_path as table_path,
)
from .releases import (
    write_manifest as write_manifest,
)
from .tables import (
    Built as Built,
)
from .tables import (
    Table as Table,
)
from .tables import (
    arrow_schema as arrow_schema,
)
from .tables import (
    kind_of as kind_of,
)
from .tiers import (
    TIER_RULES as TIER_RULES,
)
from .tiers import (
    Judged as Judged,
)
from .tiers import (
    TierRule as TierRule,
)
from .tiers import (
    load_tier_rule as load_tier_rule,
)
from .upstream_csv import (
    read_csv as read_csv,
)
