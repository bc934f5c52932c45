from .options import (
    PublishingOptions as PublishingOptions,
)
from .publication import (
    Publication as Publication,
    publish as publish,
)
from .restricted import (
    format_columns as format_columns,
)
