"""Patterns with which `fcconan.parsing.context` classifies sentences about an answer.

The patterns are defined in `phrases.yaml` and are attributes of this module, such as `phrases.REPLY`. They match text
in lower case with straight quotation marks, single blanks, and `MARK` instead of each answer. All repetitions are
bounded, so that a search takes linear time.
"""

import re
from functools import cache
from pathlib import Path

import yaml

# Replaces an answer in the text around it.
MARK = "\ufffc"
_REFERENCE = re.compile(r"\{\{(\w+)\}\}")


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern on its first use; compiling all of them takes longer than most commands."""
    return re.compile(pattern)


@cache
def _patterns() -> dict[str, str]:
    patterns = {"MARK": MARK}
    text = Path(__file__).with_name("phrases.yaml").read_text(encoding="utf-8")
    for name, lines in yaml.safe_load(text).items():
        patterns[name] = _REFERENCE.sub(lambda found: patterns[found[1]], lines.replace("\n", ""))
    return patterns


def __getattr__(name: str) -> str:
    """Returns a pattern by its name."""
    try:
        return _patterns()[name]
    except KeyError as error:
        raise AttributeError(name) from error
