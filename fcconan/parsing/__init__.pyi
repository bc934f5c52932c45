from .answers import (
    split_thinking as split_thinking,
)
from .parsers import (
    parse_comparison as parse_comparison,
    parse_label as parse_label,
    parse_multi as parse_multi,
    parse_prometheus as parse_prometheus,
    parse_rating as parse_rating,
    parse_verdict as parse_verdict,
)
from .refusals import (
    PATTERNS as PATTERNS,
    find_refusal as find_refusal,
    is_refusal as is_refusal,
)
from .results import (
    AspectField as AspectField,
    ParsedComparison as ParsedComparison,
    ParsedLabel as ParsedLabel,
    ParsedRating as ParsedRating,
    Reason as Reason,
    Verdict as Verdict,
)
