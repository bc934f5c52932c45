"""Classes of words by which `fcconan.parsing.context` tells what a sentence says about an answer.

They are data, in `phrases.yaml`, and attributes of this module: `phrases.REPLY`. They match text in lower case with
straight quotation marks, single blanks, and `MARK` in the place of every answer. All repetitions are bounded, so that a
search takes time linear in the length of the text.
"""

import re
from functools import cache
from pathlib import Path

import yaml

# Stands where an answer stood.
MARK = "\ufffc"
_REFERENCE = re.compile(r"\{\{(\w+)\}\}")


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Returns a pattern; compiling all of them takes longer than most commands."""
    return re.compile(pattern)


@cache
def _patterns() -> dict[str, str]:
    patterns = {"MARK": MARK}
    text = Path(__file__).with_name("phrases.yaml").read_text(encoding="utf-8")
    for name, lines in yaml.safe_load(text).items():
        patterns[name] = _REFERENCE.sub(lambda found: patterns[found[1]], lines.replace("\n", ""))
    return patterns


def __getattr__(name: str) -> str:
    """Returns the pattern of a class of words."""
    try:
        return _patterns()[name]
    except KeyError as error:
        raise AttributeError(name) from error
