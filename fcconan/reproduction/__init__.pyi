from .datasets import (
    Datasets as Datasets,
)
from .ledger import (
    Cell as Cell,
)
from .ledger import (
    as_rows as as_rows,
)
from .ledger import (
    counts as counts,
)
from .ledger import (
    from_print as from_print,
)
from .ledger import (
    ledger_signature as ledger_signature,
)
from .ledger import (
    reproduce as reproduce,
)
from .published import (
    figure as figure,
)
from .published import (
    load_paper as load_paper,
)
from .published import (
    paper_names as paper_names,
)
from .values import (
    STATUSES as STATUSES,
)
