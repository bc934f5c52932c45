from .shards import (
    Portion as Portion,
    Shard as Shard,
    claim_shards as claim_shards,
    is_finished as is_finished,
    make_shards as make_shards,
    write_shard as write_shard,
)
from .workers import (
    Workers as Workers,
    open_workers as open_workers,
)
