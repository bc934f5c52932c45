"""Encoders and exact search, with a tiny model of random weights, and the packaged MiniLM where it is installed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval import dense
from fcconan.retrieval.dense import Dense, SentenceEncoder, find_nearest, packaged_minilm, weights_hash
from tests.retrieval.tiny import TEXTS, tiny_encoder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


def test_nearest_is_exact_search() -> None:
    generator = np.random.default_rng(0)
    asked, catalogue = (generator.normal(size=(n, 8)).astype(np.float32) for n in (5, 40))
    scores, found = find_nearest(asked, catalogue, 7)
    products = asked @ catalogue.T
    expected = np.argsort(-products, axis=1)[:, :7]
    assert (found == expected).all()
    assert scores == pytest.approx(np.take_along_axis(products, expected, axis=1), rel=1e-5)
    assert find_nearest(asked, catalogue, 100)[1].shape == (5, 40)


def test_a_dense_system_ranks_by_the_cosine_that_sentence_transformers_gives(tiny: Path) -> None:
    from sentence_transformers import SentenceTransformer

    queries = {"q1": TEXTS[0], "q2": TEXTS[2]}
    corpus = {f"c{index}": text for index, text in enumerate(TEXTS[1:])}
    found = Dense("tiny", SentenceEncoder(str(tiny))).rank(queries, corpus, 3)
    model: Any = SentenceTransformer(str(tiny), device="cpu")
    vectors = {text: model.encode(text).astype(np.float64) for text in TEXTS}
    for query, text in queries.items():
        cosine = {
            key: float(vectors[text] @ vectors[cn] / np.linalg.norm(vectors[text]) / np.linalg.norm(vectors[cn]))
            for key, cn in corpus.items()
        }
        expected = sorted(cosine, key=lambda key: -cosine[key])[:3]
        assert [key for key, _ in found[query]] == expected
        assert [score for _, score in found[query]] == pytest.approx([cosine[key] for key in expected], abs=1e-5)
    assert found.resolved["encoder"]["dimensions"] == 32


def test_the_same_texts_are_encoded_once_and_batches_do_not_matter(tiny: Path) -> None:
    encoder = SentenceEncoder(str(tiny), batch_size=2)
    first = encoder.encode(TEXTS, role="query")
    assert encoder.encode(TEXTS, role="query") is first
    assert first.dtype == np.float32
    assert np.linalg.norm(first, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert SentenceEncoder(str(tiny), batch_size=64).encode(TEXTS, role="query") == pytest.approx(first, abs=1e-5)
    assert encoder.encode([], role="query").shape == (0, 32)


def test_prompts_are_put_before_texts(tiny: Path) -> None:
    plain, prompted = SentenceEncoder(str(tiny)), SentenceEncoder(str(tiny), query_prompt="query: ")
    assert (prompted.encode(["cards"], role="query") == plain.encode(["query: cards"], role="query")).all()
    assert (prompted.encode(["cards"], role="document") == plain.encode(["cards"], role="document")).all()
    assert prompted.configuration["query_prompt"] == "query: "


def test_the_configuration_names_the_weights_and_no_path(tiny: Path, tmp_path: Path) -> None:
    configuration = SentenceEncoder(str(tiny)).configuration
    assert configuration["weights"] == weights_hash(tiny)
    assert str(tiny) not in str(configuration)
    other = tiny_encoder(tmp_path, seed=1)
    assert weights_hash(other) != weights_hash(tiny)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model folder at"):
        SentenceEncoder(str(tmp_path / "missing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no weights"):
        SentenceEncoder(str(tmp_path / "empty"))
    (tmp_path / "empty" / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(InputError, match="cannot be loaded"):
        SentenceEncoder(str(tmp_path / "empty")).encode(["x"], role="query")


def test_packaged_weights_that_are_not_the_official_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (packaged_minilm() / "model.safetensors").is_file()
    monkeypatch.setattr(dense, "MINILM_SHA256", "0" * 64)
    with pytest.raises(InputError, match=f"has the sha256 53aa51172d14.*, expected {'0' * 64}"):
        packaged_minilm()
