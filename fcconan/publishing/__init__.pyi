from .hub import (
    HubFailure as HubFailure,
)
from .publication import (
    Publication as Publication,
)
from .publication import (
    publish as publish,
)
from .restricted import (
    listed as listed,
)
