from .agreement import (
    AGREEMENT_COEFFICIENTS as AGREEMENT_COEFFICIENTS,
    LARGEST_DOMAIN as LARGEST_DOMAIN,
    agreement_signature as agreement_signature,
    cohen_kappa as cohen_kappa,
    has_pair_intervals as has_pair_intervals,
    krippendorff_alpha as krippendorff_alpha,
    measure_agreement as measure_agreement,
)
from .arrays import (
    Flags as Flags,
    Floats as Floats,
    Ints as Ints,
)
from .comparisons import (
    read_verdicts as read_verdicts,
    verdict_table as verdict_table,
)
from .correlation.analysis import (
    DEFAULT_COEFFICIENTS as DEFAULT_COEFFICIENTS,
    Correlation as Correlation,
    correlate as correlate,
    correlation_signature as correlation_signature,
)
from .correlation.coefficients import (
    CALIBRATED as CALIBRATED,
    KENDALL_B as KENDALL_B,
    SPEARMAN as SPEARMAN,
    middle_ranks as middle_ranks,
)
from .correlation.levels import (
    LEVELS as LEVELS,
    PER_ITEM as PER_ITEM,
    PER_SYSTEM as PER_SYSTEM,
    POOLED as POOLED,
    SYSTEM_MEANS as SYSTEM_MEANS,
    UNKNOWN as UNKNOWN,
)
from .correlation.metric_tests import (
    permutation_families as permutation_families,
    permutation_signature as permutation_signature,
    permutation_tests as permutation_tests,
)
from .correlation.ndcg import (
    PAPER as PAPER,
    SOUND as SOUND,
    ranking_scores as ranking_scores,
    ranking_signature as ranking_signature,
    single_score as single_score,
)
from .correlation.stability import (
    stability as stability,
)
from .intervals import (
    CHUNK as CHUNK,
    bootstrap_means as bootstrap_means,
    means as means,
    percentile_interval as percentile_interval,
    safe_divide as safe_divide,
    summary as summary,
)
from .messages import (
    message_auc as message_auc,
)
from .names import (
    check_names as check_names,
)
from .paired_tests import (
    difference_table as difference_table,
    family as family,
    few_items as few_items,
    mean_intervals as mean_intervals,
    sign_flips as sign_flips,
)
from .ranking import (
    rank as rank,
)
from .ratings import (
    HUMAN as HUMAN,
    WHOLE_REPLY as WHOLE_REPLY,
    Ratings as Ratings,
)
from .reliability_data import (
    NOMINAL_COEFFICIENTS as NOMINAL_COEFFICIENTS,
    ReliabilityData as ReliabilityData,
    read_reliability_data as read_reliability_data,
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
from .score_table import (
    ScoreTable as ScoreTable,
)
from .significance.families import (
    LEVEL as LEVEL,
    Family as Family,
    family_parts as family_parts,
    floor_notes as floor_notes,
    p_floor as p_floor,
)
from .text.bertscore import (
    BertScore as BertScore,
)
from .text.corpus import (
    RepetitionRate as RepetitionRate,
    csv_cell as csv_cell,
)
from .text.evaluation import (
    REFERENCE_METRICS as REFERENCE_METRICS,
    TEXT_METRICS as TEXT_METRICS,
    rating_rows as rating_rows,
    score_systems as score_systems,
    score_texts as score_texts,
    summary_rows as summary_rows,
    summary_signatures as summary_signatures,
)
from .text.models import (
    ScoringModel as ScoringModel,
)
from .text.novelty import (
    Novelty as Novelty,
)
from .text.overlap import (
    Bleu as Bleu,
)
from .text.scores import (
    REFERENCE_COMBINATIONS as REFERENCE_COMBINATIONS,
    Metric as Metric,
    TextScores as TextScores,
)
from .text.seq2seq import (
    BartScore as BartScore,
    Question as Question,
)
from .text.toxicity import (
    Toxicity as Toxicity,
)
