from .active_learning.features import (
    build_problem as build_problem,
    read_positive as read_positive,
    read_scores as read_scores,
)
from .active_learning.queue import (
    Queue as Queue,
    make_batch as make_batch,
    queue_summary as queue_summary,
)
from .adjudication import (
    adjudicate as adjudicate,
)
from .assigning import (
    assign as assign,
    deal as deal,
)
from .campaigns import (
    QUALIFICATION as QUALIFICATION,
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
from .importing import (
    import_answers as import_answers,
)
from .ordering import (
    derived_seed as derived_seed,
    in_order as in_order,
    sides as sides,
)
from .progress import (
    campaign_status as campaign_status,
    next_step as next_step,
)
from .releasing import (
    release as release,
)
from .rounds import (
    find_outliers as find_outliers,
)
from .sampling.combinations import (
    COUNT_DESCRIPTIONS as COUNT_DESCRIPTIONS,
    CampaignContent as CampaignContent,
    Neighbours as Neighbours,
    sample_pairs as sample_pairs,
)
from .sampling.corpus import (
    Corpus as Corpus,
    default_encoder as default_encoder,
    neighbour_finder as neighbour_finder,
    read_corpus as read_corpus,
)
from .sampling.gold_questions import (
    add_gold_questions as add_gold_questions,
)
from .sampling.lists import (
    comparison_units as comparison_units,
    create_campaign as create_campaign,
    list_texts as list_texts,
    pair_lists as pair_lists,
    read_list as read_list,
    reply_units as reply_units,
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
