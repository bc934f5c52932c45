from .answers import (
    without_thoughts as without_thoughts,
)
from .parsers import (
    parse_comparison as parse_comparison,
    parse_label as parse_label,
    parse_multi as parse_multi,
    parse_rating as parse_rating,
    parse_result as parse_result,
    parse_verdict as parse_verdict,
)
from .refusals import (
    PATTERNS as PATTERNS,
    is_refusal as is_refusal,
    refusal_kind as refusal_kind,
)
from .results import (
    AspectField as AspectField,
    ParsedComparison as ParsedComparison,
    ParsedLabel as ParsedLabel,
    ParsedRating as ParsedRating,
    Reason as Reason,
    Verdict as Verdict,
)
