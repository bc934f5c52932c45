from .comparison import (
    reproduce as reproduce,
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
    status_of as status_of,
)
