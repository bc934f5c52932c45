from .datasets import (
    Datasets as Datasets,
)
from .ledger import (
    Cell as Cell,
    as_rows as as_rows,
    counts as counts,
    from_print as from_print,
    ledger_signature as ledger_signature,
    reproduce as reproduce,
)
from .published import (
    figure as figure,
    load_paper as load_paper,
    paper_names as paper_names,
)
from .values import (
    STATUSES as STATUSES,
)
