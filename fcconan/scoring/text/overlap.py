"""BLEU, ROUGE and METEOR, computed by nltk, sacrebleu and rouge-score."""

from collections.abc import Sequence
from functools import cache, lru_cache, partial
from itertools import zip_longest
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.scoring.text.corpus import Scores

if TYPE_CHECKING:
    from pandas import DataFrame


def bleu(names: Sequence[str], units: "DataFrame") -> Scores:
    """BLEU (Papineni et al., 2002) of texts, from 0 to 1.

    The value is that of nltk with smoothing method 1 and, as in the multi-aspect paper, tokens between white space.
    Weights are uniform. Because of smoothing, texts shorter than the n-gram have a value, too.
    """
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    weights = [(1 / int(name[-1]),) * int(name[-1]) for name in names]
    how: dict[str, Any] = {"weights": weights, "smoothing_function": SmoothingFunction().method1}
    pairs = zip(units["text"], units["references"], strict=True)
    found = [sentence_bleu([reference.split()], text.split(), **how) for text, reference in pairs]
    columns = np.reshape(found, (-1, len(names))).T.tolist()  # of one order, nltk gives a number and no list
    return dict(zip(names, columns, strict=True))


def corpus_bleu(names: Sequence[str], rows: "DataFrame", *, smoothing: str = "exp") -> dict[str, float | str]:
    """BLEU of all texts together by sacrebleu, divided by 100, with all references of a text at once."""
    from sacrebleu.metrics.bleu import BLEU

    if rows.empty:
        return dict.fromkeys(names, "no_values")
    streams: Any = [[*stream] for stream in zip_longest(*rows["references"])]
    whole = BLEU(force=True).corpus_score([*rows["text"]], streams)
    found: dict[str, float | str] = {}
    for name in names:
        order = int(name[-1])
        lengths = whole.sys_len, whole.ref_len
        how: dict[str, Any] = {"smooth_method": smoothing, "max_ngram_order": order}
        value = BLEU.compute_bleu(whole.counts[:order], whole.totals[:order], *lengths, **how).score
        found[name] = min(value / 100, 1.0)
    return found


def rouge(names: Sequence[str], units: "DataFrame") -> Scores:
    """F of ROUGE-1, ROUGE-2 or ROUGE-L (Lin, 2004) by rouge-score, with stems (Porter, for English).

    Tokens are runs of the letters a to z and digits. All other letters are left out, including those with accents, and
    texts in other alphabets have no value. ROUGE-L is that of the whole text, which is not split into sentences.
    """
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenize import tokenize

    cut = cache(partial(tokenize, stemmer=_stemmer()))  # replies may share a reference
    keys = {name: f"rouge{name[-1].upper()}" for name in names}
    scorer = RougeScorer([*keys.values()], tokenizer=SimpleNamespace(tokenize=cut))
    found: Scores = {name: [] for name in names}
    for text, reference in zip(units["text"], units["references"], strict=True):
        shorter = min(len(cut(text)), len(cut(reference)))
        scores = scorer.score(reference, text)
        for name, key in keys.items():
            enough = shorter >= (2 if name == "rouge-2" else 1)
            found[name].append(scores[key].fmeasure if enough else "too_short" if shorter else "no_words")
    return found


def meteor(names: Sequence[str], units: "DataFrame") -> Scores:
    """METEOR (Lavie and Agarwal, 2007) by nltk with alpha .9, beta 3 and gamma .5.

    Synonyms are matched after equal words and equal stems if nltk finds WordNet on this machine. nltk looks up stems
    instead of words in WordNet, so it misses many synonyms.
    """
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import single_meteor_score

    cut = cache(NLTKWordTokenizer().tokenize)  # replies may share a reference
    how: dict[str, Any] = {"wordnet": _wordnet(), "stemmer": _stemmer()}
    pairs = [(cut(reference), cut(text)) for text, reference in zip(units["text"], units["references"], strict=True)]
    found = [single_meteor_score(*pair, **how) if all(pair) else "no_words" for pair in pairs]
    return dict.fromkeys(names, found)


@cache
def _stemmer() -> Any:
    """Returns the Porter stemmer of nltk with a store, as stemming takes most of the time of ROUGE and METEOR."""
    from nltk.stem.porter import PorterStemmer

    return SimpleNamespace(stem=lru_cache(100_000)(PorterStemmer().stem))


def meteor_settings() -> str:
    """Returns the settings of METEOR, with the version of WordNet if it is on this machine."""
    version = getattr(_wordnet(), "get_version", lambda: None)()
    return f"match=exact+stem{f'+wordnet-{version}' if version else ''},tok=treebank,case=lc,stem=porter"


def _wordnet() -> Any:
    """Returns nltk's WordNet; one without an entry if nltk does not find it on this machine."""
    from nltk.corpus import wordnet

    try:
        wordnet.synsets("word")
    except LookupError:
        return SimpleNamespace(synsets=lambda word: ())
    return wordnet
