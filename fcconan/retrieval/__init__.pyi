from .benchmark import (
    bench as bench,
)
from .benchmark_settings import (
    BenchmarkSettings as BenchmarkSettings,
)
from .benchmark_statistics import (
    SUMMARY_VALUES as SUMMARY_VALUES,
    interval_ends as interval_ends,
    leaderboard_rows as leaderboard_rows,
    primary_chance_level as primary_chance_level,
    ranked_systems as ranked_systems,
    score_rows as score_rows,
)
from .chat import (
    Reranker as Reranker,
    ZeroShot as ZeroShot,
)
from .collections import (
    Collection as Collection,
    load_collection as load_collection,
)
from .dense import (
    DOCUMENT as DOCUMENT,
    MINILM as MINILM,
    QUERY as QUERY,
    Dense as Dense,
    Encoder as Encoder,
    SentenceEncoder as SentenceEncoder,
)
from .judged_pairs import (
    pairs_collection as pairs_collection,
)
from .label_columns import (
    CHANCE_AUC as CHANCE_AUC,
    MESSAGE_AUC as MESSAGE_AUC,
    all_rows as all_rows,
    all_rows_csv as all_rows_csv,
)
from .label_learning import (
    LabelledPair as LabelledPair,
    LearningRetriever as LearningRetriever,
    held_out_scores as held_out_scores,
    learns_from_labels as learns_from_labels,
    rank_partitions as rank_partitions,
    score_matrix as score_matrix,
)
from .label_systems import (
    LongestFirst as LongestFirst,
    Popularity as Popularity,
    Supervised as Supervised,
)
from .lexical import (
    BM25 as BM25,
    BM25Fast as BM25Fast,
    Random as Random,
    TfIdf as TfIdf,
)
from .openai_embeddings import (
    OpenAIEncoder as OpenAIEncoder,
)
from .ranx_forms import (
    to_qrels as to_qrels,
    to_ranx as to_ranx,
)
from .run_cache import (
    RunCache as RunCache,
    count_requests as count_requests,
    default_folder as default_folder,
)
from .sparsity import (
    study_broadest as study_broadest,
)
from .suites import (
    encoder_system as encoder_system,
    load_suite as load_suite,
    make_systems as make_systems,
    offline_systems as offline_systems,
)
from .systems import (
    FinishedRun as FinishedRun,
    Rankings as Rankings,
    Retriever as Retriever,
    TrainingPair as TrainingPair,
    check_run as check_run,
    rank_all as rank_all,
)
from .trec import (
    qrels_text as qrels_text,
    read_qrels as read_qrels,
    read_run as read_run,
    run_text as run_text,
)
