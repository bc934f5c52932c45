"""BLEU, ROUGE and METEOR, computed by nltk, sacrebleu and rouge-score."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.names import check_names
from fcconan.scoring.text.scores import CorpusScore, Metric, Reason, Unit, UnitScores, signature
from fcconan.scoring.text.tokenizers import Tokens, tokeniser

ROUGE_VARIANTS = ("1", "2", "l")


class Bleu(Metric):
    """BLEU (Papineni et al., 2002), from 0 to 1.

    The value of a text is that of nltk with smoothing method 1 and, as in the multi-aspect paper, tokens between white
    space. The paper's BLEU-3 has weights of .33; here they are thirds. Because of smoothing, texts shorter than the
    n-gram have a value, too. The value of the corpus is that of sacrebleu divided by 100, with all references of a text
    at once and sacrebleu's tokeniser and smoothing. It is not the mean of the values of texts.

    Args:
        orders: Lengths of the longest n-grams, one series for each; weights are uniform.
        tokens: Tokeniser of the values of texts.
        corpus_tokens: Tokeniser of the value of the corpus, one of sacrebleu's that needs no download.
        corpus_smoothing: Smoothing of the value of the corpus: `exp`, `floor`, `add-k` or `none`.

    Raises:
        InputError: An argument is out of range.
    """

    needs_reference = True
    joins = True
    independent = True

    def __init__(
        self,
        orders: Sequence[int] = (1, 2, 3, 4),
        *,
        tokens: Tokens = "white-space",
        corpus_tokens: str = "13a",
        corpus_smoothing: str = "exp",
    ) -> None:
        if not orders or any(order not in (1, 2, 3, 4) for order in orders):
            raise InputError(f"orders of BLEU are {list(orders)}: give some of 1, 2, 3, 4")
        check_names("tokeniser of sacrebleu", [corpus_tokens], ("13a", "none", "char", "intl", "zh"))
        check_names("smoothing of sacrebleu", [corpus_smoothing], ("exp", "floor", "add-k", "none"))
        self.orders = tuple(orders)
        self.names = tuple(f"bleu-{order}" for order in orders)
        self._tokens, self._cut = tokens, tokeniser(tokens)
        self._corpus_tokens, self._corpus_smoothing = corpus_tokens, corpus_smoothing

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one."""
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        cut = cache(self._cut)  # replies may share a reference
        smooth = SmoothingFunction().method1
        weights = [(1 / order,) * order for order in self.orders]
        values = np.full((len(self.orders), len(units)), np.nan)
        reasons: dict[int, Reason] = {}
        for place, unit in enumerate(units):
            text = cut(unit.text)
            references = [words for words in map(cut, (unit.reference, *unit.others)) if words]
            if not text or not references:
                reasons[place] = "no_words"
                continue
            values[:, place] = sentence_bleu(references, text, weights=weights, smoothing_function=smooth)
        parts = {"tok": self._tokens, "case": "mixed", "smooth": "method1", "nltk": version("nltk")}
        return [
            UnitScores(name, row, signature(name, **parts), reasons=reasons)
            for name, row in zip(self.names, values, strict=True)
        ]

    def counts(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, ...]:
        """Returns sacrebleu's lengths of texts and references, then matching and all n-grams of each order."""
        if not texts:
            return ()
        most = max(len(each) for each in references)
        streams: Any = [[each[place] if place < len(each) else None for each in references] for place in range(most)]
        found = self._sacrebleu(max(self.orders), "none").corpus_score(list(texts), streams)
        return (found.sys_len, found.ref_len, *found.counts, *found.totals)

    def corpus(
        self, series: UnitScores, texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> CorpusScore | None:
        """Computes sacrebleu's value of all texts together, from their counts."""
        if not texts:
            return CorpusScore(None, signature(series.name, corpus="sacrebleu"), "no_values")
        order, longest = int(series.name.removeprefix("bleu-")), max(self.orders)
        text_length, reference_length, *counts = series.counts
        metric = self._sacrebleu(order, self._corpus_smoothing)
        numbers = {len(each) for each in references}
        metric.num_refs = numbers.pop() if len(numbers) == 1 else -1  # for its signature; -1: variable
        score = metric.compute_bleu(
            counts[:order],
            counts[longest : longest + order],
            text_length,
            reference_length,
            smooth_method=self._corpus_smoothing,
            max_ngram_order=order,
        ).score
        return CorpusScore(min(score / 100, 1.0), signature(f"{series.name}|{metric.get_signature()}|scale:1"))

    def _sacrebleu(self, order: int, smoothing: str) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(max_ngram_order=order, tokenize=self._corpus_tokens, smooth_method=smoothing, force=True)


class Rouge(Metric):
    """F of ROUGE-1, ROUGE-2 or ROUGE-L (Lin, 2004), computed by rouge-score.

    By default, tokens are runs of the letters a to z and digits. All other letters are left out, including those with
    accents, and texts in other alphabets have no value; choose `plain` for these. ROUGE-L is that of the whole text,
    which is not split into sentences. The ranking paper used `rouge` of the package evaluate, whose value of the corpus
    is the median of random resamples instead of the mean.

    Args:
        variants: Variants `1`, `2` and `l`; one series for each.
        stem: Whether words of four letters or more are stemmed (Porter, for English), as in both papers.
        tokens: `a-z0-9`, the tokeniser of rouge-score; or another tokeniser, which is applied to lower-cased texts.

    Raises:
        InputError: A variant or the tokeniser is unknown.
    """

    needs_reference = True
    independent = True

    def __init__(
        self,
        variants: Sequence[str] = ROUGE_VARIANTS,
        *,
        stem: bool = True,
        tokens: Literal["a-z0-9"] | Tokens = "a-z0-9",
    ) -> None:
        self._variants = check_names("variant of ROUGE", variants, ROUGE_VARIANTS)
        self.names = tuple(f"rouge-{variant}" for variant in self._variants)
        self._stem, self._tokens = stem, tokens
        self._tokeniser = None if tokens == "a-z0-9" else tokeniser(tokens)

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one."""
        from rouge_score.rouge_scorer import RougeScorer

        keys = [f"rouge{variant.upper()}" for variant in self._variants]
        least = [2 if variant == "2" else 1 for variant in self._variants]
        cut = cache(self._cut())  # replies may share a reference
        scorer = RougeScorer(keys, tokenizer=SimpleNamespace(tokenize=cut))
        values = np.full((len(keys), len(units)), np.nan)
        reasons: list[dict[int, Reason]] = [{} for _ in keys]
        for place, unit in enumerate(units):
            shorter = min(len(cut(unit.text)), len(cut(unit.reference)))
            scores = scorer.score(unit.reference, unit.text)
            for row, (key, words) in enumerate(zip(keys, least, strict=True)):
                if shorter < words:
                    reasons[row][place] = "too_short" if shorter else "no_words"
                else:
                    values[row, place] = scores[key].fmeasure
        parts = {"measure": "f", "tok": self._tokens, "case": "lc", "stem": "porter" if self._stem else "no"}
        parts["rouge_score"] = version("rouge-score")
        return [
            UnitScores(name, row, signature(name, **parts), reasons=why)
            for name, row, why in zip(self.names, values, reasons, strict=True)
        ]

    def _cut(self) -> Callable[[str], list[str]]:
        if self._tokeniser is None:
            from rouge_score.tokenizers import DefaultTokenizer

            own: Callable[[str], list[str]] = DefaultTokenizer(self._stem).tokenize
            return own
        cut, stem = self._tokeniser, _stemmer().stem
        if not self._stem:
            return lambda text: cut(text.lower())
        return lambda text: [stem(word) if len(word) > 3 else word for word in cut(text.lower())]


_NO_SYNONYMS = SimpleNamespace(synsets=lambda word: ())  # a WordNet without an entry


def _stemmer() -> Any:
    """Returns a stemmer with a cache; stemming takes most of METEOR's time."""
    from nltk.stem.porter import PorterStemmer

    return SimpleNamespace(stem=cache(PorterStemmer().stem))


def _find_wordnet() -> Any:
    """Returns nltk's WordNet; None if nltk does not find it on this machine."""
    from nltk.corpus import wordnet

    try:
        wordnet.synsets("word")
    except LookupError:
        return None
    return wordnet


class Meteor(Metric):
    """METEOR (Lavie and Agarwal, 2007), computed by nltk with alpha .9, beta 3 and gamma .5.

    nltk looks up stems instead of words in WordNet, so it misses many synonyms.

    Args:
        synonyms: Whether to match synonyms after equal words and equal stems; None if nltk finds WordNet on this
            machine. WordNet is not downloaded. The signature names the kinds of matches.
        tokens: Name of the tokeniser.

    Raises:
        InputError: Synonyms are requested, and WordNet is missing.
    """

    needs_reference = True
    independent = True
    names = ("meteor",)

    def __init__(self, *, synonyms: bool | None = None, tokens: Tokens = "treebank") -> None:
        self._synonyms, self._tokens, self._cut = synonyms, tokens, tokeniser(tokens)
        if synonyms and _find_wordnet() is None:
            raise InputError(
                "WordNet is not on this machine: run `python -m nltk.downloader wordnet`, or leave synonyms out"
            )

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one."""
        from nltk.translate.meteor_score import single_meteor_score

        cut = cache(self._cut)  # replies may share a reference
        wordnet = None if self._synonyms is False else _find_wordnet()
        stemmer = _stemmer()
        values = np.full(len(units), np.nan)
        reasons: dict[int, Reason] = {}
        for place, unit in enumerate(units):
            text, reference = cut(unit.text), cut(unit.reference)
            if text and reference:
                values[place] = single_meteor_score(reference, text, wordnet=wordnet or _NO_SYNONYMS, stemmer=stemmer)
            else:
                reasons[place] = "no_words"
        match = "exact+stem" if wordnet is None else f"exact+stem+wordnet-{wordnet.get_version()}"
        name = signature("meteor", match=match, tok=self._tokens, case="lc", stem="porter", nltk=version("nltk"))
        return [UnitScores("meteor", values, name, reasons=reasons)]
