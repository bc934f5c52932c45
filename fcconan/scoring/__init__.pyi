from .agreement import (
    COEFFICIENTS as COEFFICIENTS,
)
from .agreement import (
    LARGEST_DOMAIN as LARGEST_DOMAIN,
)
from .agreement import (
    agreement_signature as agreement_signature,
)
from .agreement import (
    alpha_of_counts as alpha_of_counts,
)
from .agreement import (
    cohen_kappa as cohen_kappa,
)
from .agreement import (
    has_pair_intervals as has_pair_intervals,
)
from .agreement import (
    krippendorff_alpha as krippendorff_alpha,
)
from .agreement import (
    measure_agreement as measure_agreement,
)
from .correlation.analysis import (
    DEFAULT as DEFAULT,
)
from .correlation.analysis import (
    correlate as correlate,
)
from .correlation.analysis import (
    correlation_signature as correlation_signature,
)
from .correlation.coefficients import (
    CALIBRATED as CALIBRATED,
)
from .correlation.coefficients import (
    KENDALL_B as KENDALL_B,
)
from .correlation.coefficients import (
    SPEARMAN as SPEARMAN,
)
from .correlation.coefficients import (
    known_coefficients as known_coefficients,
)
from .correlation.levels import (
    LEVELS as LEVELS,
)
from .correlation.levels import (
    PER_ITEM as PER_ITEM,
)
from .correlation.levels import (
    PER_SYSTEM as PER_SYSTEM,
)
from .correlation.levels import (
    POOLED as POOLED,
)
from .correlation.levels import (
    SYSTEM_MEANS as SYSTEM_MEANS,
)
from .correlation.levels import (
    UNKNOWN as UNKNOWN,
)
from .correlation.levels import (
    known_levels as known_levels,
)
from .correlation.metric_tests import (
    UNITS as UNITS,
)
from .correlation.metric_tests import (
    metric_families as metric_families,
)
from .correlation.metric_tests import (
    permutation_families as permutation_families,
)
from .correlation.metric_tests import (
    permutation_signature as permutation_signature,
)
from .correlation.metric_tests import (
    permutation_tests as permutation_tests,
)
from .correlation.ndcg import (
    PAPER as PAPER,
)
from .correlation.ndcg import (
    SOUND as SOUND,
)
from .correlation.ndcg import (
    ranking_scores as ranking_scores,
)
from .correlation.ndcg import (
    ranking_signature as ranking_signature,
)
from .correlation.partial import (
    partial_correlations as partial_correlations,
)
from .correlation.rating_errors import (
    rating_errors as rating_errors,
)
from .correlation.stability import (
    stability as stability,
)
from .correlation.williams import (
    HOLM as HOLM,
)
from .correlation.williams import (
    WILLIAMS as WILLIAMS,
)
from .correlation.williams import (
    WILLIAMS_COEFFICIENTS as WILLIAMS_COEFFICIENTS,
)
from .correlation.williams import (
    WILLIAMS_LEVELS as WILLIAMS_LEVELS,
)
from .correlation.williams import (
    williams_signature as williams_signature,
)
from .correlation.williams import (
    williams_tests as williams_tests,
)
from .leaderboards import (
    leaderboard as leaderboard,
)
from .leaderboards import (
    leaderboard_signature as leaderboard_signature,
)
from .leaderboards import (
    left_out as left_out,
)
from .leaderboards import (
    one_score as one_score,
)
from .ranks import (
    middle_ranks as middle_ranks,
)
from .ratings import (
    HUMAN as HUMAN,
)
from .ratings import (
    WHOLE as WHOLE,
)
from .ratings import (
    RatedReplies as RatedReplies,
)
from .reliability_data import (
    NOMINAL as NOMINAL,
)
from .reliability_data import (
    RatedByMany as RatedByMany,
)
from .reliability_data import (
    tables_of as tables_of,
)
from .retrieval.evaluation import (
    ALL as ALL,
)
from .retrieval.evaluation import (
    TABLE_4 as TABLE_4,
)
from .retrieval.evaluation import (
    Evaluation as Evaluation,
)
from .retrieval.evaluation import (
    Rule as Rule,
)
from .retrieval.evaluation import (
    chance_levels as chance_levels,
)
from .retrieval.evaluation import (
    evaluate as evaluate,
)
from .retrieval.evaluation import (
    evaluate_run as evaluate_run,
)
from .retrieval.evaluation import (
    metric_names as metric_names,
)
from .retrieval.metrics import (
    PAPER_METRICS as PAPER_METRICS,
)
from .retrieval.metrics import (
    RETRIEVAL_METRICS as RETRIEVAL_METRICS,
)
from .retrieval.metrics import (
    Ranked as Ranked,
)
from .retrieval.metrics import (
    TieKey as TieKey,
)
from .retrieval.metrics import (
    chance as chance,
)
from .retrieval.metrics import (
    order as order,
)
from .retrieval.metrics import (
    parse_metric as parse_metric,
)
from .retrieval.metrics import (
    see as see,
)
from .retrieval.metrics import (
    tie_by_corpus as tie_by_corpus,
)
from .retrieval.metrics import (
    tie_by_hash as tie_by_hash,
)
from .retrieval.runs import (
    NOT_IN_CATALOGUE as NOT_IN_CATALOGUE,
)
from .retrieval.runs import (
    Ranking as Ranking,
)
from .retrieval.runs import (
    check_run as check_run,
)
from .score_table import (
    Flags as Flags,
)
from .score_table import (
    Floats as Floats,
)
from .score_table import (
    ScoreTable as ScoreTable,
)
from .significance.families import (
    EXPLORATORY as EXPLORATORY,
)
from .significance.families import (
    LEVEL as LEVEL,
)
from .significance.families import (
    PRIMARY as PRIMARY,
)
from .significance.families import (
    Family as Family,
)
from .significance.families import (
    family_parts as family_parts,
)
from .significance.families import (
    floor_notes as floor_notes,
)
from .significance.families import (
    system_pairs as system_pairs,
)
from .significance.intervals import (
    CHUNK as CHUNK,
)
from .significance.intervals import (
    bootstrap_means as bootstrap_means,
)
from .significance.intervals import (
    divided as divided,
)
from .significance.intervals import (
    holm as holm,
)
from .significance.intervals import (
    kendall_tau as kendall_tau,
)
from .significance.intervals import (
    kendall_tau_interval as kendall_tau_interval,
)
from .significance.intervals import (
    means as means,
)
from .significance.intervals import (
    percentile_interval as percentile_interval,
)
from .significance.intervals import (
    summary as summary,
)
from .significance.max_t import (
    Ints as Ints,
)
from .significance.max_t import (
    p_floor as p_floor,
)
from .significance.max_t import (
    sign_flip_tests as sign_flip_tests,
)
from .significance.max_t import (
    units_floor as units_floor,
)
from .system_tests import (
    DRAWS as DRAWS,
)
from .system_tests import (
    compare_rated as compare_rated,
)
from .system_tests import (
    sign_flip_signature as sign_flip_signature,
)
from .system_tests import (
    system_test_notes as system_test_notes,
)
from .text.bartscore import (
    BartScore as BartScore,
)
from .text.bertscore import (
    BertScore as BertScore,
)
from .text.corpus import (
    RepetitionRate as RepetitionRate,
)
from .text.corpus import (
    csv_cell as csv_cell,
)
from .text.evaluation import (
    OF_REFERENCES as OF_REFERENCES,
)
from .text.evaluation import (
    TEXT_METRICS as TEXT_METRICS,
)
from .text.evaluation import (
    score_texts as score_texts,
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
from .text.questions import (
    Question as Question,
)
from .text.scores import (
    SEVERAL as SEVERAL,
)
from .text.scores import (
    Metric as Metric,
)
from .text.scores import (
    TextScores as TextScores,
)
from .text.toxicity import (
    Toxicity as Toxicity,
)
from .tournament.preferences import (
    disagreement as disagreement,
)
from .tournament.preferences import (
    read_verdicts as read_verdicts,
)
from .tournament.preferences import (
    verdict_table as verdict_table,
)
from .tournament.ranking import (
    compare_raters as compare_raters,
)
from .tournament.ranking import (
    correlate_tables as correlate_tables,
)
from .tournament.ranking import (
    rank_systems as rank_systems,
)
