"""Whether a reply is in another language than the message that it answers.

By py3langid (140 languages, the model is in the package), which says how sure it is. Of the 7269 texts of CONAN with 20
letters or more (English, French and Italian), 95% are told with a confidence of .8, and two are taken for another
language than CONAN says: both are English among the Italian and French ones.
"""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

CONFIDENCE = 0.8
UNLIKELY = 0.01  # of the language that is expected: a dialect or a close relative is no other language
LETTERS = 20  # fewer say too little
NO_LANGUAGE = "zxx"  # py3langid's code for what is none
_READ = 2_000  # characters
_NO_WORDS = re.compile(r"https?://\S+|[@#]\w+|[\W\d_]+")


def in_other_language(hate_speech: str, text: str, *, language: str | None = None) -> bool:
    """Whether a reply is surely in another language than its message.

    Args:
        hate_speech: The message.
        text: The reply.
        language: Code of the message's language, such as `en` or `pt-BR`; by default the one it is told to be in. A
            message whose language is not sure, or that py3langid does not know, has no other language.
    """
    expected = _code(language) if language else language_of(hate_speech)
    ranked = _ranked(text[:_READ])
    if expected not in ranked or language_of(text) is None:
        return False
    return ranked[expected] <= UNLIKELY


def language_of(text: str) -> str | None:
    """Returns the code of a text's language, None where it has too few letters or the language is not sure.

    Links, names with `@` and words with `#` do not count, nor does what stands after 2000 characters.
    """
    language, confidence = next(iter(_ranked(text[:_READ]).items()), (NO_LANGUAGE, 0.0))
    return language if confidence >= CONFIDENCE and language != NO_LANGUAGE else None


@lru_cache(maxsize=4)
def _ranked(text: str) -> dict[str, float]:
    """Languages with their probabilities, the likeliest first; none for too few letters."""
    words = _NO_WORDS.sub(" ", text).strip()
    return dict(_identifier().rank(words)) if len(words) - words.count(" ") >= LETTERS else {}


def _code(language: str) -> str:
    return re.split(r"[-_]", language.strip().lower())[0]


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
