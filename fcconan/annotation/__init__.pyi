from .adjudication import (
    adjudicate as adjudicate,
)
from .assigning import (
    assign as assign,
    deal as deal,
)
from .campaigns import (
    VALIDATION as VALIDATION,
    Answer as Answer,
    Assignment as Assignment,
    Campaign as Campaign,
    Decision as Decision,
    Rater as Rater,
    Settings as Settings,
    Unit as Unit,
    create as create,
)
from .creating import (
    new_campaign as new_campaign,
)
from .importing import (
    import_answers as import_answers,
)
from .ordering import (
    in_order as in_order,
    sides as sides,
)
from .progress import (
    campaign_status as campaign_status,
    next_step as next_step,
)
from .queue_estimate import (
    estimate as estimate,
)
from .queue_model import (
    Problem as Problem,
    choose as choose,
    likeness as likeness,
    predict as predict,
    standardised as standardised,
)
from .queueing import (
    queue_units as queue_units,
)
from .releasing import (
    release as release,
)
from .rounds import (
    find_outliers as find_outliers,
)
from .sampling import (
    default_encoder as default_encoder,
    read_corpus as read_corpus,
    sample_pairs as sample_pairs,
)
from .sheets import (
    export_sheets as export_sheets,
)
from .simulating import (
    simulate as simulate,
)
from .validating import (
    validate as validate,
)
from .votes import (
    resolve as resolve,
    vote_rows as vote_rows,
)
