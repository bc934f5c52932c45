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
    RequestForm as RequestForm,
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
    find_nearest as find_nearest,
)
from .factories import (
    as_retriever as as_retriever,
    call_factory as call_factory,
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
)
from .label_systems import (
    LongestFirst as LongestFirst,
    Popularity as Popularity,
    Supervised as Supervised,
)
from .lexical import (
    BM25 as BM25,
    Random as Random,
    TfIdf as TfIdf,
)
from .ranx_forms import (
    is_ranx_run as is_ranx_run,
    run_as_system as run_as_system,
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
    Suite as Suite,
    SystemFactory as SystemFactory,
    extend_suite as extend_suite,
    load_suite as load_suite,
    system_names as system_names,
)
from .systems import (
    Rankings as Rankings,
    Retriever as Retriever,
    TrainingPair as TrainingPair,
    rank_all as rank_all,
)
from .trec import (
    qrels_text as qrels_text,
    read_qrels as read_qrels,
    read_run as read_run,
    run_from_file as run_from_file,
    run_text as run_text,
)
