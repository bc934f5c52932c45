from .benchmark import (
    bench as bench,
)
from .chat import (
    Reranker as Reranker,
    ZeroShot as ZeroShot,
)
from .collections import (
    load_collection as load_collection,
)
from .dense import (
    DOCUMENT as DOCUMENT,
    MINILM as MINILM,
    QUERY as QUERY,
    Dense as Dense,
    Encoder as Encoder,
    SentenceEncoder as SentenceEncoder,
    has_minilm as has_minilm,
)
from .label_learning import (
    LabelledPair as LabelledPair,
    LearningRetriever as LearningRetriever,
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
from .suites import (
    encoder_system as encoder_system,
    load_suite as load_suite,
    make_systems as make_systems,
    offline_systems as offline_systems,
)
from .systems import (
    Ranking as Ranking,
    Rankings as Rankings,
    Retriever as Retriever,
    TrainingPair as TrainingPair,
    rank_all as rank_all,
)
from .trec import (
    read_qrels as read_qrels,
    read_run as read_run,
    run_text as run_text,
)
