from .answers import (
    without_thoughts as without_thoughts,
)
from .parsers import (
    parse_comparison as parse_comparison,
)
from .parsers import (
    parse_label as parse_label,
)
from .parsers import (
    parse_multi as parse_multi,
)
from .parsers import (
    parse_rating as parse_rating,
)
from .parsers import (
    parse_result as parse_result,
)
from .parsers import (
    parse_verdict as parse_verdict,
)
from .refusals import (
    PATTERNS as PATTERNS,
)
from .refusals import (
    is_refusal as is_refusal,
)
from .refusals import (
    refusal_kind as refusal_kind,
)
from .results import (
    AspectField as AspectField,
)
from .results import (
    ParsedComparison as ParsedComparison,
)
from .results import (
    ParsedLabel as ParsedLabel,
)
from .results import (
    ParsedRating as ParsedRating,
)
from .results import (
    Reason as Reason,
)
from .results import (
    Verdict as Verdict,
)
