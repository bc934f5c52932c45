from .active_learning import (
    QueueOptions as QueueOptions,
    QueueResult as QueueResult,
    queue_units as queue_units,
)
from .adjudication import (
    AdjudicateOptions as AdjudicateOptions,
    AdjudicateResult as AdjudicateResult,
    ValidateOptions as ValidateOptions,
    ValidateResult as ValidateResult,
    adjudicate as adjudicate,
    validate as validate,
)
from .assignment import (
    AssignOptions as AssignOptions,
    AssignResult as AssignResult,
    RosterOptions as RosterOptions,
    RosterResult as RosterResult,
    assign as assign,
    update_raters as update_raters,
)
from .calls import (
    checked as checked,
)
from .campaign_folders import (
    StatusOptions as StatusOptions,
    StatusResult as StatusResult,
    campaign_status as campaign_status,
)
from .campaign_release import (
    TierOptions as TierOptions,
    TierResult as TierResult,
    tier as tier,
)
from .campaigns import (
    CampaignOptions as CampaignOptions,
    NewCampaignResult as NewCampaignResult,
    new_campaign as new_campaign,
)
from .configuration import (
    Argument as Argument,
    Configuration as Configuration,
    ConfigurationError as ConfigurationError,
    Names as Names,
    argument as argument,
    bounds as bounds,
    error_message as error_message,
    open_configuration as open_configuration,
    option as option,
    option_flag as option_flag,
    value_type as value_type,
    without_constraints as without_constraints,
)
from .datasets import (
    BuildOptions as BuildOptions,
    BuildResult as BuildResult,
    DatasetList as DatasetList,
    build as build,
    list_datasets as list_datasets,
)
from .locations import (
    cached_folder as cached_folder,
    check_files as check_files,
    dataset_folder as dataset_folder,
)
from .options import (
    LARGEST_SEED as LARGEST_SEED,
    RowSelection as RowSelection,
)
from .results import (
    Result as Result,
    write_json as write_json,
)
from .sheets import (
    ImportOptions as ImportOptions,
    ImportResult as ImportResult,
    SheetOptions as SheetOptions,
    SheetResult as SheetResult,
    export_sheets as export_sheets,
    import_answers as import_answers,
)
from .simulation import (
    SimulateOptions as SimulateOptions,
    SimulateResult as SimulateResult,
    simulate as simulate,
)
