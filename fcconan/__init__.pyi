from .annotation import (
    adjudicate as adjudicate,
    assign as assign,
    campaign_status as campaign_status,
    export_sheets as export_sheets,
    import_answers as import_answers,
    new_campaign as new_campaign,
    queue_units as queue_units,
    release as release,
    simulate as simulate,
    validate as validate,
)
from .building import (
    build as build,
    hydrate as hydrate,
    list_datasets as list_datasets,
    load_recipe as load_recipe,
)
from .errors import (
    InputError as InputError,
)
from .generation import (
    finetune as finetune,
    generate as generate,
)
from .groups import (
    Bootstrap as Bootstrap,
    Endpoint as Endpoint,
    Rows as Rows,
)
from .judging import (
    Judge as Judge,
    audit as audit,
    calibrate as calibrate,
    compare as compare,
    draft_rubric as draft_rubric,
    rate as rate,
    train_rater as train_rater,
)
from .parsing import (
    AspectField as AspectField,
    parse_comparison as parse_comparison,
    parse_multi as parse_multi,
    parse_rating as parse_rating,
)
from .publishing import (
    publish as publish,
)
from .reproduction import (
    reproduce as reproduce,
)
from .result import (
    Result as Result,
)
from .retrieval import (
    Retriever as Retriever,
    bench as bench,
)
from .scoring import (
    agree as agree,
    correlate as correlate,
    metrics as metrics,
    rank as rank,
)

__version__: str
__all__: list[str]
