from .benchmark import (
    bench as bench,
)
from .benchmark_rows import (
    benchmark_csv as benchmark_csv,
)
from .benchmark_rows import (
    ends_of as ends_of,
)
from .benchmark_rows import (
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
)
from .collections import (
    load_collection as load_collection,
)
from .collections import (
    load_training as load_training,
)
from .dense import (
    DOCUMENT as DOCUMENT,
)
from .dense import (
    MINILM as MINILM,
)
from .dense import (
    QUERY as QUERY,
)
from .dense import (
    Dense as Dense,
)
from .dense import (
    Encoder as Encoder,
)
from .dense import (
    SentenceEncoder as SentenceEncoder,
)
from .dense import (
    nearest as nearest,
)
from .folds import (
    groups_of as groups_of,
)
from .lexical import (
    BM25 as BM25,
)
from .lexical import (
    Random as Random,
)
from .lexical import (
    TfIdf as TfIdf,
)
from .run_cache import (
    KeptRuns as KeptRuns,
)
from .run_cache import (
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
)
from .suites import (
    RunFile as RunFile,
)
from .suites import (
    load_suite as load_suite,
)
from .systems import (
    Rankings as Rankings,
)
from .systems import (
    Retriever as Retriever,
)
from .systems import (
    TrainingPair as TrainingPair,
)
from .systems import (
    rank_all as rank_all,
)
from .training import (
    Training as Training,
)
from .training import (
    train_retriever as train_retriever,
)
from .trec import (
    qrels_text as qrels_text,
)
from .trec import (
    read_run as read_run,
)
from .trec import (
    run_text as run_text,
)
