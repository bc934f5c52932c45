from .answers.file import (
    check_answers_file as check_answers_file,
    store_path as store_path,
)
from .answers.origins import (
    find_origins as find_origins,
)
from .answers.store import (
    AnswerStore as AnswerStore,
    CommandRun as CommandRun,
)
from .budget import (
    Budget as Budget,
    CostLimit as CostLimit,
    load_price as load_price,
)
from .chat_template import (
    Format as Format,
    control_tokens as control_tokens,
    encode_pair as encode_pair,
    find_token as find_token,
    format_names as format_names,
    load_format as load_format,
)
from .client import (
    Client as Client,
)
from .dry_run import (
    DryRun as DryRun,
    UnaskedModel as UnaskedModel,
)
from .endpoint import (
    EndpointModel as EndpointModel,
)
from .local import (
    LocalModel as LocalModel,
    loading_errors as loading_errors,
    locate_model as locate_model,
    stop_in as stop_in,
)
from .replay import (
    ReplayModel as ReplayModel,
)
from .requests import (
    PASSING_REASONS as PASSING_REASONS,
    ChatRequest as ChatRequest,
    ChatResponse as ChatResponse,
    FailureReason as FailureReason,
    Messages as Messages,
    Model as Model,
    Sampling as Sampling,
    TokenAlternatives as TokenAlternatives,
)
from .responses import (
    EndpointError as EndpointError,
    replace_surrogates as replace_surrogates,
)
