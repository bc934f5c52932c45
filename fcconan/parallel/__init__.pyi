from .dask_cluster import (
    run_on_cluster as run_on_cluster,
)
from .shards import (
    Progress as Progress,
)
from .shards import (
    Shard as Shard,
)
from .shards import (
    claim as claim,
)
from .shards import (
    cut as cut,
)
from .shards import (
    is_finished as is_finished,
)
from .shards import (
    run as run,
)
from .shards import (
    share as share,
)
from .shards import (
    write_shard as write_shard,
)
