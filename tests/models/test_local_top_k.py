"""Drawing from the likeliest tokens on this machine, against transformers; and requests that say nothing about it."""

from dataclasses import replace
from pathlib import Path

import pytest

from fcconan.models.local import LocalModel
from fcconan.models.requests import Sampling
from tests.models.stored import records
from tests.models.test_local import WARM, answers, call
from tests.models.tiny_chat import TEXTS, tiny_chat


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("likeliest") / "tiny")


def test_the_likeliest_tokens_are_those_of_transformers() -> None:
    import torch
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    from fcconan.models.token_sampling import draw_tokens

    scores = torch.randn((5, 60), generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2
    scores[4, 10:20] = scores[4].max()  # ten equal ones: all of them are kept
    temperature, top_p = [0.5, 1.0, 1.0, 2.0, 1.0], [0.9, 0.5, 1.0, 0.97, 1.0]
    top_k = [10, 3, 1, 60, 4]
    points = torch.linspace(0, 1, 2001, dtype=torch.float64)[:-1]
    for row in range(5):
        settings = (torch.full((len(points), 1), each[row]) for each in (temperature, top_p, top_k))
        drawn = draw_tokens(scores[row].expand(len(points), -1), points[:, None], *settings)[:, 0]
        wanted = scores[row : row + 1]
        for warp in (
            TemperatureLogitsWarper(temperature[row]),
            TopKLogitsWarper(top_k[row]),
            TopPLogitsWarper(top_p[row]),
        ):
            wanted = warp(None, wanted)
        shares = torch.bincount(drawn, minlength=60) / len(points)
        assert torch.allclose(shares.double(), wanted.softmax(-1)[0], atol=1.1 / len(points))


def test_rows_are_drawn_from_as_many_tokens_as_each_asks_for(tiny: Path, tmp_path: Path) -> None:
    one, many = (Sampling(temperature=5.0, max_tokens=20, top_k=number) for number in (1, 10_000))
    hot = Sampling(temperature=5.0, max_tokens=20)
    greedy, _, limitless = answers(tiny, [call(TEXTS[0], each) for each in (one, hot, many)], tmp_path / "journal")
    bodies = [record["response"]["choices"] for record in records(tmp_path / "journal")]
    assert greedy == answers(tiny, [call(TEXTS[0], Sampling(max_tokens=20))], tmp_path / "greedy")[0]
    assert bodies[2] == bodies[1] != bodies[0]
    assert limitless == answers(tiny, [call(TEXTS[0], hot)], tmp_path / "hot")[0]


def test_requests_are_those_of_journals_from_before_there_were_formats(tiny: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    model = LocalModel(tiny, journal=journal, device="cpu")
    next(model.replies([call(TEXTS[0], replace(WARM, stop=("x",)), sample=2)]))
    sampling = {"temperature": 1.0, "max_tokens": 30, "top_p": None, "stop": ["x"], "seed": 0, "top_logprobs": 0}
    request = records(journal)[0]["request"]
    assert request == {
        "local": {
            "kind": "local",
            "model": "tiny",
            "revision": None,
            "weights": model.configuration["weights"],
            "dtype": "auto",
            "context": None,
            "plain": False,
        },
        "path": "/chat/completions",
        "body": {"model": "tiny", "messages": [{"role": "user", "content": TEXTS[0]}], **sampling},
        "sample": 2,
    }
    list(model.replies([call(TEXTS[0], replace(WARM, top_k=7))]))
    assert records(journal)[1]["request"]["body"]["top_k"] == 7
