from .agreement import (
    agree as agree,
    gold_and_time as gold_and_time,
)
from .arrays import (
    Flags as Flags,
    Floats as Floats,
    Ints as Ints,
)
from .correlating import (
    correlate as correlate,
    scores_of as scores_of,
)
from .correlation.analysis import (
    Scores as Scores,
    correlations as correlations,
    stability as stability,
)
from .correlation.ndcg import (
    PAPER as PAPER,
    SOUND as SOUND,
    ranking_scores as ranking_scores,
)
from .correlation.weighted import (
    Weighted as Weighted,
)
from .intervals import (
    CHUNK as CHUNK,
    bootstrap_means as bootstrap_means,
    draws as draws,
    few_items as few_items,
    means as means,
    percentile_interval as percentile_interval,
    safe_divide as safe_divide,
    summary as summary,
)
from .messages import (
    message_auc as message_auc,
)
from .paired_tests import (
    difference_table as difference_table,
    family as family,
    mean_intervals as mean_intervals,
    sign_flips as sign_flips,
)
from .ranking import (
    rank as rank,
)
from .reliability import (
    measure_agreement as measure_agreement,
)
from .retrieval_metrics import (
    ALL_METRICS as ALL_METRICS,
    METRICS as METRICS,
    TABLE_4 as TABLE_4,
    K as K,
    chance_levels as chance_levels,
    cutoff_of as cutoff_of,
    evaluate as evaluate,
    judged_share as judged_share,
    metric_names as metric_names,
    sorted_columns as sorted_columns,
)
from .system_means import (
    PEOPLE as PEOPLE,
    checked as checked,
)
from .text.corpus import (
    repetition_rate as repetition_rate,
)
from .text.models import (
    FIELDS as FIELDS,
)
from .text.overlap import (
    corpus_bleu as corpus_bleu,
)
from .text_metrics import (
    TEXT_METRICS as TEXT_METRICS,
    metrics as metrics,
)
from .verdicts import (
    oriented as oriented,
)
