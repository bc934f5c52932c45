from .shards import (
    Portion as Portion,
)
from .workers import (
    Workers as Workers,
    open_workers as open_workers,
)
