from .dask_cluster import (
    run_on_cluster as run_on_cluster,
)
from .shards import (
    Progress as Progress,
    Shard as Shard,
    claim as claim,
    cut as cut,
    is_finished as is_finished,
    run as run,
    share as share,
    write_shard as write_shard,
)
