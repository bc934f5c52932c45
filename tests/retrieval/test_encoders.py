"""Dense systems with a tiny model of random weights, and embeddings of a local endpoint."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan import Endpoint
from fcconan.errors import InputError
from fcconan.models import Answers, EndpointError, EndpointModel
from fcconan.retrieval import Dense, OpenAIEncoder, SentenceEncoder, rank_all
from tests.models.server import DIMENSIONS, Action, Server, always, bag, embeddings, error, first
from tests.retrieval.tiny import TEXTS, tiny_encoder

QUERIES = {"q1": TEXTS[0], "q2": TEXTS[2]}
CORPUS = {f"c{index}": text for index, text in enumerate(TEXTS[1:])}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


def encoder(server: Server, folder: Path, **options: Any) -> OpenAIEncoder:
    model = EndpointModel("embed", Endpoint(base_url=server.url, timeout=5), Answers(folder / "answers.sqlite"))
    return OpenAIEncoder(model, **options)


def test_scores_are_the_cosines_of_sentence_transformers(tiny: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import cos_sim

    model: Any = SentenceTransformer(str(tiny), device="cpu")
    expected = cos_sim(*(model.encode(list(texts.values())) for texts in (QUERIES, CORPUS))).numpy()
    found = Dense("tiny", SentenceEncoder(str(tiny))).rank(QUERIES, CORPUS, 3)
    for query, row in zip(QUERIES, expected, strict=True):
        best = np.argsort(-row)[:3]
        assert [key for key, _ in found[query]] == [list(CORPUS)[place] for place in best]
        assert [score for _, score in found[query]] == pytest.approx(row[best].tolist(), abs=1e-5)


def test_a_text_is_encoded_once_and_batches_do_not_matter(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = SentenceEncoder(str(tiny), batch_size=2)
    vectors = one.encode(TEXTS, role="query")
    assert vectors.dtype == np.float32 and np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)))
    assert SentenceEncoder(str(tiny)).encode(TEXTS, role="query") == pytest.approx(vectors, abs=1e-5)
    monkeypatch.setattr("sentence_transformers.SentenceTransformer.encode", None)  # it is not called again
    assert (one.encode([TEXTS[3], TEXTS[0], TEXTS[3]], role="query") == vectors[[3, 0, 3]]).all()


def test_prompts_are_before_texts_and_the_configuration_has_no_path(tiny: Path) -> None:
    plain, prompted = SentenceEncoder(str(tiny)), SentenceEncoder(str(tiny), query_prompt="query: ")
    assert (prompted.encode(["cards"], role="query") == plain.encode(["query: cards"], role="query")).all()
    assert (prompted.encode(["cards"], role="document") == plain.encode(["cards"], role="document")).all()
    assert prompted.configuration == plain.configuration | {"query_prompt": "query: "}
    assert str(tiny) not in str(plain.configuration) and SentenceEncoder("minilm").name == "all-MiniLM-L6-v2"


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model folder at"):
        SentenceEncoder(str(tmp_path / "missing"))
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(InputError, match="cannot be loaded"):
        rank_all(Dense("broken", SentenceEncoder(str(tmp_path))), QUERIES, CORPUS, 1)


def test_embeddings_have_length_1_and_the_order_of_the_texts(server: Server, tmp_path: Path) -> None:
    server.behaviour = first(1, error(500))  # which passes
    found = encoder(server, tmp_path, batch_size=2).encode(TEXTS, role="document")
    bags = np.array([bag(text) for text in TEXTS])
    assert found.dtype == np.float32 and found.shape == (len(TEXTS), DIMENSIONS)
    assert found == pytest.approx(bags / np.linalg.norm(bags, axis=1, keepdims=True), abs=1e-6)
    sent = len(server.requests)
    assert (encoder(server, tmp_path, batch_size=2).encode(TEXTS, role="document") == found).all()
    assert len(server.requests) == sent  # the answers are stored
    shorter = encoder(server, tmp_path, dimensions=8)
    assert shorter.encode(TEXTS, role="query").shape == (len(TEXTS), 8)
    assert server.bodies[-1] == {"model": "embed", "input": TEXTS, "encoding_format": "float", "dimensions": 8}


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop(),
        lambda data: data[0]["embedding"].append(1.0),
        lambda data: data[0].update(embedding=[0.0] * DIMENSIONS),
        lambda data: data[0].update(embedding=[1e200] * DIMENSIONS),
        lambda data: data[0].update(embedding="AAAA"),
        lambda data: data[0].pop("index"),
    ],
)
def test_wrong_vectors_are_never_used_and_never_stored(server: Server, tmp_path: Path, change: Any) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        response = embeddings(body)
        change(response["data"])
        return Action(body=response)

    server.behaviour = behaviour
    with pytest.raises(EndpointError, match=f"bad_body: .*expected {len(TEXTS)} vectors of finite numbers"):
        encoder(server, tmp_path).encode(TEXTS, role="document")
    server.behaviour = always(Action())
    assert encoder(server, tmp_path).encode(TEXTS, role="document").shape == (len(TEXTS), DIMENSIONS)


def test_a_refused_query_has_a_reason_and_a_refused_catalogue_stops(server: Server, tmp_path: Path) -> None:
    server.behaviour = lambda body, number: error(400) if QUERIES["q1"] in body["input"] else Action()
    found = rank_all(Dense("embedded", encoder(server, tmp_path)), QUERIES, CORPUS, 2)
    assert list(found) == ["q2"] and found.failures["q1"].startswith("ValueError: embed gives no vectors (bad_request")
    server.behaviour = always(error(400))
    with pytest.raises(EndpointError, match=r"embed gives no vectors \(bad_request.*stored responses are reused"):
        rank_all(Dense("embedded", encoder(server, tmp_path / "other")), QUERIES, CORPUS, 2)
