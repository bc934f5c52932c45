from .options import (
    PublishingOptions as PublishingOptions,
)
from .publication import (
    Publication as Publication,
    publish as publish,
)
from .restricted import (
    columns_text as columns_text,
)
