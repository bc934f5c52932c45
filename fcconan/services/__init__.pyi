from .configuration import (
    Argument as Argument,
)
from .configuration import (
    Configuration as Configuration,
)
from .configuration import (
    ConfigurationError as ConfigurationError,
)
from .configuration import (
    Names as Names,
)
from .configuration import (
    Option as Option,
)
from .configuration import (
    argument as argument,
)
from .configuration import (
    bounds as bounds,
)
from .configuration import (
    flag_of as flag_of,
)
from .configuration import (
    is_typed as is_typed,
)
from .configuration import (
    load_configuration as load_configuration,
)
from .configuration import (
    message_of as message_of,
)
from .configuration import (
    open_configuration as open_configuration,
)
from .configuration import (
    option as option,
)
from .configuration import (
    option_of as option_of,
)
from .configuration import (
    schema_of as schema_of,
)
from .configuration import (
    value_type as value_type,
)
from .configuration import (
    without_constraints as without_constraints,
)
from .datasets import (
    BuildOptions as BuildOptions,
)
from .datasets import (
    BuildResult as BuildResult,
)
from .datasets import (
    CroissantOptions as CroissantOptions,
)
from .datasets import (
    CroissantResult as CroissantResult,
)
from .datasets import (
    DatasetList as DatasetList,
)
from .datasets import (
    HydrateOptions as HydrateOptions,
)
from .datasets import (
    HydrateResult as HydrateResult,
)
from .datasets import (
    build as build,
)
from .datasets import (
    croissant as croissant,
)
from .datasets import (
    hydrate as hydrate,
)
from .datasets import (
    list_datasets as list_datasets,
)
from .options import (
    LARGEST_SEED as LARGEST_SEED,
)
from .options import (
    MOST_RESAMPLES as MOST_RESAMPLES,
)
from .options import (
    MOST_ROWS as MOST_ROWS,
)
from .options import (
    Bootstrap as Bootstrap,
)
from .options import (
    Endpoint as Endpoint,
)
from .options import (
    RowSelection as RowSelection,
)
from .options import (
    Seed as Seed,
)
from .publication import (
    PublishOptions as PublishOptions,
)
from .publication import (
    PublishResult as PublishResult,
)
from .publication import (
    publish as publish,
)
from .reproduction import (
    ReproduceOptions as ReproduceOptions,
)
from .reproduction import (
    ReproduceResult as ReproduceResult,
)
from .reproduction import (
    reproduce as reproduce,
)
from .results import (
    Result as Result,
)
from .results import (
    write_json as write_json,
)
