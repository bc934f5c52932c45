from .publication import (
    Publication as Publication,
    publish as publish,
)
from .restricted import (
    listed as listed,
)
