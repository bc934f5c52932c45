from .hub import (
    limit_waiting as limit_waiting,
)
from .hub import (
    quiet as quiet,
)
from .hub import (
    said as said,
)
from .publication import (
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
