"""Forms of strings that are not texts: vocabularies, ids, codes, numbers, names and titles."""

import re
import unicodedata
from dataclasses import dataclass

# Limits of a name. Words of the vocabulary below are not counted.
LONGEST_NAME = 80
MOST_WORDS = 3
LONGEST_WORD = 15  # letters; a longer word counts as several, because it may be a phrase without spaces
# Usual words in names of models, metrics, methods, datasets and results.
VOCABULARY = frozenset(
    """
    fcconan conan mtconan mt fc kn dialoconan cseval multi aspect cn hs demo release ranking replies ratings comparisons
    votes rankings results tests tournament leaderboard correlations agreement reproduction corpus queries qrels pairs
    train test validation dev diamond gold silver bronze labels
    bm25 tfidf okapi bge e5 gte bert sbert roberta deberta distilbert mpnet minilm mini lm transformer transformers
    sentence cross encoder bi dense sparse hybrid rrf reranked reranker oracle random baseline lexical
    gpt chatgpt openai claude anthropic gemini gemma google llama meta mistral mistralai mixtral qwen phi microsoft
    zephyr vicuna bart flan dialogpt judgelm prometheus command cohere deepseek hugging face huggingface tinyllama
    instruct chat base small medium large xl xxl turbo preview latest zs fs lora qlora ft instruction tuned multilingual
    english paraphrase multi mnli sts simulated annotator annotators judge rater raters human model metric eval geval
    bleu rouge meteor bertscore bartscore bleurt comet chrf ter mrr ndcg map precision recall accuracy hit rate hits
    toxic toxicity hate speech counterspeech detection classifier unieval perspective
    average mean median majority krippendorff cohen fleiss ordinal nominal interval quadratic linear
    """.split()
)
# Free in titles, counted in names.
TITLE_WORDS = frozenset(
    "of on by for with and from the my our counter narrative narratives counterspeech data dataset full gated".split()
)
_NAME = re.compile(r"[A-Za-z0-9](?: ?[A-Za-z0-9._+@:/=,()-])*")
_PART = re.compile(r"[A-Za-z0-9]+")
# `MiniLM` is two words and `GPT` is one. Up to three letters next to a digit (`v2`, `8B`) are part of a number.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORT_BESIDE_DIGITS = re.compile(r"(?<=\d)[A-Za-z]{1,3}(?![A-Za-z])|(?<![A-Za-z])[A-Za-z]{1,3}(?=\d)")


def unknown_words(text: str, known: frozenset[str] = VOCABULARY) -> int:
    """Returns the number of words of a name that are not in a vocabulary."""
    unknown = 0
    for part in _PART.findall(text):
        if part.casefold() not in known:
            words = _WORD.findall(_SHORT_BESIDE_DIGITS.sub(" ", part))
            unknown += sum(1 + (len(word) - 1) // LONGEST_WORD for word in words if word.casefold() not in known)
    return unknown


def is_name(text: str, known: frozenset[str] = VOCABULARY) -> bool:
    """Returns whether a string has the form of a name: Latin letters, digits, few symbols, and few unknown words."""
    plain = "".join(each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each))
    return (
        len(text) <= LONGEST_NAME and _NAME.fullmatch(plain) is not None and unknown_words(plain, known) <= MOST_WORDS
    )


@dataclass(frozen=True)
class Form:
    """The strings that a column may hold.

    Attributes:
        meaning: Phrase for messages, such as `a label`.
        words: Vocabulary.
        pattern: Regular expression of ids, codes or numbers; texts do not match it.
        names: Whether names are allowed as well (see `is_name`).
        separator: Separator of several values in one string.
    """

    meaning: str
    words: frozenset[str] = frozenset()
    pattern: str | None = None
    names: bool = False
    separator: str | None = None

    def is_closed(self, text: str) -> bool:
        """Returns whether a string is in the vocabulary or matches the pattern, and thus cannot be a text."""
        if self.separator is not None and self.separator in text:
            return all(map(self.is_closed, text.split(self.separator)))
        return text in self.words or (self.pattern is not None and re.fullmatch(self.pattern, text) is not None)

    def admits(self, text: str) -> bool:
        """Returns whether a string has this form."""
        joined = text if self.separator is None else text.replace(self.separator, "/")
        return self.is_closed(text) or (self.names and is_name(joined))


HASH = r"[0-9a-f]{12}(?:[0-9a-f]{28}|[0-9a-f]{52})?"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
FIGURE = r"[≈~<>=±+-]{0,2}(?:\d+(?:[.,]\d+)?|[.,]\d+|nan|inf)(?:[eE][+-]?\d+)?%?"
DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"
ID_PATTERN = rf"(?:hs|cn|re|it)-[0-9a-f]{{12}}|hs-[0-9a-f]{{12}}:cn-[0-9a-f]{{12}}|{UUID}|\d+"

TEXT = Form("a text")
NUMBER = Form("a number or date", frozenset({"True", "False", "true", "false"}), pattern=rf"{FIGURE}|{DATE}")
ID = Form("an id: one of this package, or a short name", pattern=ID_PATTERN, names=True)
NAME = Form("a name: letters, digits and single spaces, at most three unknown words", names=True)
NAMES = Form("names with `; ` between them, at most three unknown words", names=True, separator="; ")
CODE = Form("a hash, a version or a short name", pattern=HASH, names=True)
CN_TYPE = Form(
    NAMES.meaning,
    frozenset(
        """
        facts denouncing humor hypocrisy question questioning positive negative affiliation consequences empathy
        informative counter_question presenting_facts none other
        """.split()
    ),
    names=True,
    separator="; ",
)


def is_title(text: str) -> bool:
    """Returns whether a string has the form of a title: that of a name, with spaces."""
    return is_name(" ".join(text.split()), VOCABULARY | TITLE_WORDS)
