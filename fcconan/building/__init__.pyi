from .builds import (
    build as build,
    build_tables as build_tables,
    dataset_folder as dataset_folder,
    list_datasets as list_datasets,
    tables_of as tables_of,
)
from .cards import (
    read_card as read_card,
)
from .hydration import (
    hydrate as hydrate,
)
from .kinds.campaign import (
    CAMPAIGN_COLUMNS as CAMPAIGN_COLUMNS,
)
from .kinds.ratings import (
    unified_score as unified_score,
)
from .quotations import (
    find_quotation as find_quotation,
    open_names as open_names,
)
from .recipes import (
    Recipe as Recipe,
    load_recipe as load_recipe,
)
from .releases import (
    table_path as table_path,
)
from .rows import (
    comparison_row as comparison_row,
)
from .source_files import (
    numbers as numbers,
    read_csv as read_csv,
)
from .tables import (
    Table as Table,
    group_values as group_values,
)
from .tiers import (
    TIER_RULES as TIER_RULES,
    TierRule as TierRule,
    load_tier_rule as load_tier_rule,
)
