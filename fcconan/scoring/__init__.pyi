from .agreement import (
    agree as agree,
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
from .ranking import (
    rank as rank,
)
from .ratings import (
    HUMAN as HUMAN,
    Ratings as Ratings,
)
from .reliability import (
    measure_agreement as measure_agreement,
)
from .retrieval.evaluation import (
    ALL_METRICS as ALL_METRICS,
    NOT_IN_CATALOGUE as NOT_IN_CATALOGUE,
    TABLE_4 as TABLE_4,
    Evaluation as Evaluation,
    Ranking as Ranking,
    Rule as Rule,
    chance_levels as chance_levels,
    check_run as check_run,
    evaluate as evaluate,
    evaluate_run as evaluate_run,
    metric_names as metric_names,
)
from .retrieval.judged_only import (
    evaluate_judged as evaluate_judged,
    judged_chance as judged_chance,
    judged_rule as judged_rule,
)
from .retrieval.message_auc import (
    MessageAUC as MessageAUC,
    message_auc as message_auc,
    message_auc_difference as message_auc_difference,
)
from .retrieval.metrics import (
    PAPER_METRICS as PAPER_METRICS,
    RETRIEVAL_METRICS as RETRIEVAL_METRICS,
    TieKey as TieKey,
    chance as chance,
    parse_metric as parse_metric,
    sort_run as sort_run,
    tie_by_corpus as tie_by_corpus,
    tie_by_hash as tie_by_hash,
    to_gains as to_gains,
)
from .retrieval.two_way import (
    two_way_means as two_way_means,
)
from .significance.families import (
    EXPLORATORY as EXPLORATORY,
    LEVEL as LEVEL,
    PRIMARY as PRIMARY,
    Family as Family,
    family_parts as family_parts,
    floor_notes as floor_notes,
    p_floor as p_floor,
    sign_flip_tests as sign_flip_tests,
    system_pairs as system_pairs,
)
from .significance.intervals import (
    CHUNK as CHUNK,
    bootstrap_means as bootstrap_means,
    kendall_tau as kendall_tau,
    kendall_tau_interval as kendall_tau_interval,
    means as means,
    percentile_interval as percentile_interval,
    safe_divide as safe_divide,
    summary as summary,
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
    NOVELTY as NOVELTY,
    TEXT_METRICS as TEXT_METRICS,
    metrics as metrics,
)
