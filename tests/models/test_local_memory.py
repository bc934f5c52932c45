"""Batches that do not fit the memory are halved, and the answers stay what they are."""

from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.answers.store import AnswerStore
from fcconan.models.local import LocalModel
from fcconan.models.requests import ChatRequest, Sampling
from tests.models.tiny_chat import TEXTS, tiny_chat

CALLS = [
    ChatRequest([{"role": "user", "content": text}], Sampling(temperature=1.0, max_tokens=12)) for text in TEXTS[:7]
]
ALLOCATOR = (
    "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("memory") / "tiny")


class Memory:
    """Has room for some rows only; of more, it runs out at the third token."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from transformers import LlamaForCausalLM

        self.fitting, self.rows, self.steps = 99, list[int](), 0
        self.error: BaseException = RuntimeError("")
        generate, forward = LlamaForCausalLM.generate, LlamaForCausalLM.forward

        def noted(model: Any, *, input_ids: Any, **rest: Any) -> Any:
            self.rows.append(len(input_ids))
            self.steps = 0
            return generate(model, input_ids=input_ids, **rest)

        def bounded(model: Any, *arguments: Any, **rest: Any) -> Any:
            self.steps += 1
            if self.rows[-1] > self.fitting and self.steps == 3:
                raise self.error
            return forward(model, *arguments, **rest)

        monkeypatch.setattr(LlamaForCausalLM, "generate", noted)
        monkeypatch.setattr(LlamaForCausalLM, "forward", bounded)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    return Memory(monkeypatch)


def errors() -> list[BaseException]:
    import torch

    return [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError(ALLOCATOR), MemoryError()]


@pytest.mark.parametrize("kind", range(3))
def test_a_batch_that_does_not_fit_is_halved_for_good(
    tiny: Path, tmp_path: Path, memory: Memory, kind: int, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = list(LocalModel(tiny, journal=tmp_path / "all", device="cpu").replies(CALLS))
    assert memory.rows == [7] and capsys.readouterr().err == ""
    memory.rows.clear()
    memory.fitting, memory.error = 1, errors()[kind]
    model = LocalModel(tiny, journal=tmp_path / "few", device="cpu", batch_size=6)
    assert list(model.replies(CALLS[:6])) == wanted[:6]
    assert memory.rows == [6, 3, 1, 1, 1, 1, 1, 1]
    assert list(model.replies(CALLS)) == wanted
    assert memory.rows[8:] == [1]
    assert capsys.readouterr().err == (
        "fcconan: a batch of 6 does not fit into memory for tiny: continuing with batches of 3\n"
        "fcconan: a batch of 3 does not fit into memory for tiny: continuing with batches of 1\n"
    )


def test_what_was_finished_before_is_not_run_again(tiny: Path, tmp_path: Path, memory: Memory) -> None:
    model = LocalModel(tiny, journal=tmp_path / "journal", device="cpu", batch_size=4)
    replies = model.replies(CALLS)
    first = [next(replies) for _ in range(4)]
    memory.fitting, memory.error = 2, errors()[0]
    rest = list(replies)
    assert memory.rows == [4, 3, 1, 1, 1]
    assert first + rest == list(LocalModel(tiny, journal=tmp_path / "journal", device="cpu").replies(CALLS))
    assert len(memory.rows) == 5


def test_only_a_single_call_that_does_not_fit_ends_the_run(tiny: Path, tmp_path: Path, memory: Memory) -> None:
    memory.fitting, memory.error = 0, errors()[1]
    model = LocalModel(tiny, journal=tmp_path / "journal", device="cpu")
    with pytest.raises(
        InputError,
        match=r"^one call with a prompt of \d+ tokens does not fit into the memory of cpu: give shorter prompts, ",
    ):
        list(model.replies(CALLS[:2]))
    assert memory.rows == [2, 1]
    assert len(AnswerStore(tmp_path / "journal")) == 0


def test_other_errors_are_not_taken_for_a_lack_of_memory(tiny: Path, tmp_path: Path, memory: Memory) -> None:
    memory.fitting, memory.error = 0, RuntimeError("sizes do not match")
    with pytest.raises(RuntimeError, match=r"^sizes do not match$"):
        list(LocalModel(tiny, journal=tmp_path / "journal", device="cpu").replies(CALLS))
    assert memory.rows == [7]
