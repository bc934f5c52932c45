from .comparison import (
    FROM_PRINT as FROM_PRINT,
    Cell as Cell,
    as_rows as as_rows,
    reproduce as reproduce,
    reproduction_signature as reproduction_signature,
)
from .datasets import (
    Datasets as Datasets,
)
from .published import (
    load_paper as load_paper,
    paper_names as paper_names,
)
from .values import (
    STATUSES as STATUSES,
)
