from .comparison import (
    Cell as Cell,
    as_rows as as_rows,
    count_from_print as count_from_print,
    count_statuses as count_statuses,
    reproduce as reproduce,
    reproduction_signature as reproduction_signature,
)
from .datasets import (
    Datasets as Datasets,
)
from .published import (
    load_paper as load_paper,
    paper_names as paper_names,
    parse_printed as parse_printed,
)
from .values import (
    STATUSES as STATUSES,
)
