from .benchmark import (
    bench as bench,
)
from .benchmark_rows import (
    benchmark_csv as benchmark_csv,
    ends_of as ends_of,
    ranked_systems as ranked_systems,
)
from .benchmark_settings import (
    Settings as Settings,
)
from .benchmark_statistics import (
    SUMMARY as SUMMARY,
)
from .collections import (
    Collection as Collection,
    load_collection as load_collection,
    load_training as load_training,
)
from .dense import (
    DOCUMENT as DOCUMENT,
    MINILM as MINILM,
    QUERY as QUERY,
    Dense as Dense,
    Encoder as Encoder,
    SentenceEncoder as SentenceEncoder,
    nearest as nearest,
)
from .folds import (
    groups_of as groups_of,
)
from .lexical import (
    BM25 as BM25,
    Random as Random,
    TfIdf as TfIdf,
)
from .run_cache import (
    KeptRuns as KeptRuns,
    default_folder as default_folder,
)
from .sample_size import (
    plan_all as plan_all,
)
from .sparsity import (
    study as study,
)
from .suites import (
    Maker as Maker,
    RunFile as RunFile,
    load_suite as load_suite,
)
from .systems import (
    Rankings as Rankings,
    Retriever as Retriever,
    TrainingPair as TrainingPair,
    rank_all as rank_all,
)
from .training import (
    Training as Training,
    train_retriever as train_retriever,
)
from .trec import (
    qrels_text as qrels_text,
    read_run as read_run,
    run_text as run_text,
)
