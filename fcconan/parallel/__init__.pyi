from .shards import (
    Portion as Portion,
    Progress as Progress,
    Shard as Shard,
    claim as claim,
    cut as cut,
    is_finished as is_finished,
    run as run,
    write_shard as write_shard,
)
from .workers import (
    Workers as Workers,
    open_workers as open_workers,
)
