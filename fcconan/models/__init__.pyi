from .chat_template import (
    Format as Format,
    encode_pair as encode_pair,
    format_names as format_names,
    load_format as load_format,
)
from .endpoint import (
    EndpointError as EndpointError,
    EndpointModel as EndpointModel,
)
from .local import (
    LocalModel as LocalModel,
    loading_errors as loading_errors,
    locate_model as locate_model,
)
from .opening import (
    check_names_of as check_names_of,
    identified as identified,
    model_notes as model_notes,
    open_model as open_model,
    plan_requests as plan_requests,
    usage_table as usage_table,
)
from .replay import (
    ReplayModel as ReplayModel,
)
from .requests import (
    ChatRequest as ChatRequest,
    ChatResponse as ChatResponse,
    FailureReason as FailureReason,
    Messages as Messages,
    Model as Model,
    Sampling as Sampling,
    TokenAlternatives as TokenAlternatives,
    read_reply as read_reply,
    well_formed as well_formed,
)
from .store import (
    Answers as Answers,
)
