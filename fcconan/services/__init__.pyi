from .active_learning import (
    QueueOptions as QueueOptions,
    QueueResult as QueueResult,
    queue_units as queue_units,
)
from .calls import (
    checked as checked,
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
    HydrateOptions as HydrateOptions,
    HydrateResult as HydrateResult,
    hydrate as hydrate,
)
from .locations import (
    check_files as check_files,
)
from .options import (
    LARGEST_SEED as LARGEST_SEED,
    RowSelection as RowSelection,
)
from .publication import (
    PublishOptions as PublishOptions,
    PublishResult as PublishResult,
    publish as publish,
)
from .results import (
    Result as Result,
    write_json as write_json,
)
