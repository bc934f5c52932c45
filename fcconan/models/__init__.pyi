from .answers.file import (
    check_answers_file as check_answers_file,
)
from .answers.file import (
    store_path as store_path,
)
from .answers.origins import (
    Origins as Origins,
)
from .answers.origins import (
    origins_of as origins_of,
)
from .answers.store import (
    Answers as Answers,
)
from .answers.store import (
    Run as Run,
)
from .budget import (
    Budget as Budget,
)
from .budget import (
    CostLimitError as CostLimitError,
)
from .budget import (
    Price as Price,
)
from .budget import (
    Purse as Purse,
)
from .budget import (
    estimated_tokens as estimated_tokens,
)
from .budget import (
    load_price as load_price,
)
from .budget import (
    longest_answer as longest_answer,
)
from .budget import (
    longest_prompt as longest_prompt,
)
from .calls import (
    Call as Call,
)
from .calls import (
    CallReason as CallReason,
)
from .calls import (
    Messages as Messages,
)
from .calls import (
    Model as Model,
)
from .calls import (
    Reply as Reply,
)
from .calls import (
    Sampling as Sampling,
)
from .calls import (
    TokenAlternatives as TokenAlternatives,
)
from .chat_formats import (
    format_names as format_names,
)
from .chat_formats import (
    load_format as load_format,
)
from .chat_template import (
    Format as Format,
)
from .chat_template import (
    control_tokens as control_tokens,
)
from .chat_template import (
    encode_pair as encode_pair,
)
from .chat_template import (
    held_token as held_token,
)
from .client import (
    Client as Client,
)
from .completions import (
    whole_characters as whole_characters,
)
from .endpoint import (
    EndpointModel as EndpointModel,
)
from .local import (
    LocalModel as LocalModel,
)
from .replay import (
    ReplayModel as ReplayModel,
)
from .responses import (
    EndpointError as EndpointError,
)
from .token_sampling import (
    stop_in as stop_in,
)
from .weights import (
    known_hash as known_hash,
)
from .weights import (
    loading as loading,
)
from .weights import (
    locate as locate,
)
from .weights import (
    one_line as one_line,
)
from .weights import (
    quiet_hub as quiet_hub,
)
from .weights import (
    quiet_training as quiet_training,
)
