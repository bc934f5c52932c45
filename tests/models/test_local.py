"""Models on this machine, against transformers' own `generate` and hand-derived values."""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.answers.store import AnswerStore
from fcconan.models.chat_template import Format
from fcconan.models.local import LocalModel
from fcconan.models.requests import ChatRequest, ChatResponse, Sampling
from tests.models.stored import records
from tests.models.tiny_chat import END, START, TEXTS, tiny_chat

GREEDY = Sampling(max_tokens=30)
WARM = Sampling(temperature=1.0, max_tokens=30)
VERDICT = "8 6\nThe first reply is kinder."
TWO_LINES = "\nThey do.\nMore."


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("babbling") / "tiny")


@pytest.fixture(scope="module")
def begins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose answers begin with a line break."""
    return tiny_chat(tmp_path_factory.mktemp("begins") / "judge", says=[TWO_LINES])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("trained") / "judge", says=[VERDICT])


def call(text: str, sampling: Sampling = GREEDY, sample: int = 0) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], sampling, sample=sample)


def answers(folder: Path, calls: list[ChatRequest], journal: Path, **settings: Any) -> list[ChatResponse]:
    return list(LocalModel(folder, journal=journal, device="cpu", **settings).replies(calls))


def generated(folder: Path, text: str, tokens: int) -> tuple[list[int], str, str]:
    """What `generate` answers to one message: its tokens, its text, and why it ended."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    prompt = tokenizer(f"{START}user\n{text}{END}\n{START}assistant\n", return_tensors="pt")
    with torch.no_grad():
        out = model.generate(**prompt, do_sample=False, max_new_tokens=tokens)
    new = out[0, prompt["input_ids"].shape[1] :].tolist()
    return (
        new,
        tokenizer.decode(new, skip_special_tokens=True),
        "stop" if new[-1] == tokenizer.eos_token_id else "length",
    )


@pytest.fixture(scope="module")
def expected(tiny: Path) -> dict[str, tuple[list[int], str, str]]:
    found = {text: generated(tiny, text, 30) for text in TEXTS}
    assert {finish for _, _, finish in found.values()} == {"stop", "length"}, "the model must show both ends"
    return found


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each run of a model had."""
    from transformers import LlamaForCausalLM

    counted: list[int] = []
    real = LlamaForCausalLM.generate

    def generate(self: Any, *, input_ids: Any, **rest: Any) -> Any:
        counted.append(len(input_ids))
        return real(self, input_ids=input_ids, **rest)

    monkeypatch.setattr(LlamaForCausalLM, "generate", generate)
    return counted


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_greedy_answers_are_those_of_generate(
    tiny: Path, expected: dict[str, tuple[list[int], str, str]], tmp_path: Path, batch_size: int
) -> None:
    journal = tmp_path / "journal.jsonl"
    replies = answers(tiny, [call(text) for text in TEXTS], journal, batch_size=batch_size)
    bodies = [record["response"] for record in records(journal)]
    for reply, body, (tokens, text, finish) in zip(replies, bodies, expected.values(), strict=True):
        assert body["choices"][0] == {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": finish,
        }
        assert reply.completion_tokens == len(tokens)
        assert (reply.text, reply.reason) == ((text, None) if finish == "stop" else (None, "truncated"))
        assert reply.model == "tiny"


def test_a_draw_belongs_to_its_call_alone(tiny: Path, tmp_path: Path) -> None:
    calls = [call(text, WARM, sample) for text in TEXTS[:4] for sample in range(3)]
    one = answers(tiny, calls, tmp_path / "1", batch_size=1)
    assert answers(tiny, calls, tmp_path / "5", batch_size=5) == one
    assert answers(tiny, calls[::-1], tmp_path / "12", batch_size=12) == one[::-1]
    assert len({reply.text for reply in one if reply.text}) == sum(reply.text is not None for reply in one) > 3
    other = answers(tiny, [replace(each, sampling=replace(WARM, seed=1)) for each in calls], tmp_path / "seed")
    assert not {reply.text for reply in one if reply.text} & {reply.text for reply in other}


def test_calls_of_all_kinds_share_a_batch(tiny: Path, tmp_path: Path) -> None:
    calls = [
        call(TEXTS[0]),
        call(TEXTS[0], WARM),
        call(TEXTS[1], Sampling(max_tokens=4)),
        call(TEXTS[2], Sampling(temperature=0.7, top_p=0.8, max_tokens=20)),
        call(TEXTS[3], Sampling(max_tokens=25, stop=("e",), top_logprobs=2)),
    ]
    assert (
        answers(tiny, calls, tmp_path / "5", batch_size=5)[:4] == answers(tiny, calls, tmp_path / "1", batch_size=1)[:4]
    )


def test_tokens_are_drawn_from_the_nucleus_at_a_temperature() -> None:
    import torch

    from fcconan.models.token_sampling import draw_tokens

    def drawn(number: float, temperature: float, top_p: float) -> int:
        column = [torch.tensor([[each]], dtype=torch.float64) for each in (number, temperature, top_p)]
        return int(draw_tokens(torch.tensor([[0.2, 0.5, 0.3]]).log(), *column))

    assert [drawn(number, 1.0, 1.0) for number in (0.0, 0.19, 0.21, 0.69, 0.71, 0.999)] == [0, 0, 1, 1, 2, 2]
    # At 0.5 the probabilities are squared: 4, 25 and 9 of 38.
    assert [drawn(number, 0.5, 1.0) for number in (0.10, 0.11, 0.76, 0.77)] == [0, 1, 1, 2]
    # 0.7 holds the second and the third; 0.8 needs all of them; 0.5 is held by the second alone.
    assert [drawn(number, 1.0, 0.7) for number in (0.0, 0.62, 0.63, 0.999)] == [1, 1, 2, 2]
    assert [drawn(number, 1.0, 0.81) for number in (0.0, 0.21, 0.71)] == [0, 1, 2]
    assert [drawn(number, 1.0, 0.4) for number in (0.0, 0.999)] == [1, 1]


def test_what_a_call_leaves_open_is_as_the_model_has_it(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(tiny, folder)
    path = folder / "generation_config.json"
    stated = json.loads(path.read_text())
    path.write_text(json.dumps(stated | {"temperature": 0.6, "top_p": 0.9, "repetition_penalty": 5.0}))
    left_open, said = Sampling(temperature=None, max_tokens=20), Sampling(temperature=0.6, top_p=0.9, max_tokens=20)
    texts = TEXTS[:4]
    found = answers(folder, [call(text, left_open) for text in texts], tmp_path / "open")
    assert found == answers(folder, [call(text, said) for text in texts], tmp_path / "said")
    # The penalty is left out: the model without it says the same.
    assert [each.text for each in found] == [
        each.text for each in answers(tiny, [call(text, said) for text in texts], tmp_path / "plain")
    ]


def test_an_answer_ends_before_the_first_stop_string(trained: Path, begins: Path, tmp_path: Path) -> None:
    def said(*stop: str) -> ChatResponse:
        return answers(trained, [call("Judge.", replace(GREEDY, stop=stop, top_logprobs=1))], tmp_path / "journal")[0]

    whole, cut, word = said(), said("\n"), said("absent", "kind", "reply is k")
    assert (whole.text, cut.text, word.text) == (VERDICT, "8 6", "8 6\nThe first ")
    assert said("8").reason == "empty"
    asked = [call(TEXTS[0]), call(TEXTS[0], replace(GREEDY, stop=("\n",)))]
    assert [each.text for each in answers(begins, asked, tmp_path / "begins")] == [TWO_LINES, "\nThey do."]
    assert "".join(token.token for token in whole.logprobs or ()) == VERDICT
    assert "".join(token.token for token in cut.logprobs or ()) == "8 6"
    assert (cut.completion_tokens or 99) < (whole.completion_tokens or 0)


def test_log_probabilities_are_those_of_the_model(trained: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    sampling = Sampling(temperature=1.3, max_tokens=30, top_logprobs=3, seed=5)
    calls = [call(text, sampling) for text in TEXTS]
    asked = answers(trained, calls, tmp_path / "journal")
    tokenizer, model = AutoTokenizer.from_pretrained(trained), AutoModelForCausalLM.from_pretrained(trained)
    texts = Counter(tokenizer.decode([token]) for token in range(len(tokenizer)))
    # One whose tokens can be told from their texts: pieces of characters all read alike.
    place = next(
        place
        for place, reply in enumerate(asked)
        if reply.logprobs and all(texts[each.token] == 1 for each in reply.logprobs)
    )
    body = records(tmp_path / "journal")[place]["response"]
    prompt = tokenizer(f"{START}user\n{TEXTS[place]}{END}\n{START}assistant\n")["input_ids"]
    entries = body["choices"][0]["logprobs"]["content"]
    vocabulary = {tokenizer.decode([token]): token for token in range(len(tokenizer))}
    answer = [vocabulary[entry["token"]] for entry in entries]
    with torch.no_grad():
        wanted = model(torch.tensor([prompt + answer])).logits[0].double().log_softmax(-1)
    for position, (entry, token) in enumerate(zip(entries, answer, strict=True), len(prompt) - 1):
        assert entry["logprob"] == pytest.approx(float(wanted[position, token]), abs=1e-4)
        values, tokens = wanted[position].topk(3)
        assert [each["token"] for each in entry["top_logprobs"]] == [tokenizer.decode([each]) for each in tokens]
        assert [each["logprob"] for each in entry["top_logprobs"]] == pytest.approx(values.tolist(), abs=1e-4)
    reply = asked[place].logprobs or ()
    assert [token.token for token in reply] == [entry["token"] for entry in entries]
    assert all(token.token in token.logprobs for token in reply)
    assert body["usage"]["completion_tokens"] == len(entries) + 1  # the end


def test_a_prompt_that_fills_the_context_is_too_long_and_is_not_run(
    tiny: Path, tmp_path: Path, runs: list[int]
) -> None:
    length = answers(tiny, [call(TEXTS[0])], tmp_path / "journal")[0].prompt_tokens
    assert length is not None and runs == [1]
    reply = answers(tiny, [call(TEXTS[0])], tmp_path / "full", context=length)[0]
    assert (reply.text, reply.reason, reply.prompt_tokens) == (None, "too_long", length)
    assert reply.detail == f"{length} tokens in a context of {length}"
    assert runs == [1]
    room = answers(tiny, [call(TEXTS[0], Sampling(max_tokens=None))], tmp_path / "room", context=length + 2)[0]
    assert (room.reason, room.completion_tokens) == ("truncated", 2)
    long = answers(tiny, [call("book " * 600)], tmp_path / "own")[0]
    assert long.reason == "too_long" and long.detail.endswith("in a context of 512")


def test_no_row_is_run_beyond_the_context_for_the_sake_of_another(tiny: Path, tmp_path: Path, runs: list[int]) -> None:
    short, long = call("Ostrun", Sampling(max_tokens=None)), call(TEXTS[1] * 20, Sampling(max_tokens=3))
    apart = answers(tiny, [short], tmp_path / "a") + answers(tiny, [long], tmp_path / "b")
    assert answers(tiny, [short, long], tmp_path / "together") == apart
    assert runs == [1, 1, 1, 1]


def test_finished_calls_are_never_computed_again(tiny: Path, tmp_path: Path, runs: list[int]) -> None:
    calls = [call(text, WARM) for text in TEXTS]
    whole = answers(tiny, calls, tmp_path / "whole")
    runs.clear()
    journal = tmp_path / "journal.jsonl"
    begun = LocalModel(tiny, journal=journal, device="cpu", batch_size=3).replies(calls)
    first = [next(begun), next(begun)]
    assert first == whole[:2] and runs == [3]  # the third one is finished too
    with journal.open("ab") as file:
        file.write(b'{"key": "')  # killed while it wrote
    moved = tmp_path / "elsewhere" / "tiny"
    shutil.copytree(tiny, moved)
    assert answers(moved, calls, journal, batch_size=8) == whole
    assert runs == [3, 5]
    done = LocalModel(tiny, journal=journal, device="cpu")
    assert list(done.replies(calls)) == whole
    assert runs == [3, 5]
    assert not {"_model", "_tokenizer"} & set(vars(done))  # nothing was loaded for it


def test_what_changes_an_answer_is_asked_again(tiny: Path, tmp_path: Path, runs: list[int]) -> None:
    journal = tmp_path / "journal"
    answers(tiny, [call(TEXTS[0])], journal)
    answers(tiny, [call(TEXTS[0]), call(TEXTS[0])], journal)
    assert runs == [1]
    others = [call(TEXTS[0], sample=1), call(TEXTS[1]), call(TEXTS[0], replace(GREEDY, max_tokens=31))]
    answers(tiny, [*others, others[0]], journal)
    assert runs == [1, 3]  # equal ones once
    answers(tiny_chat(tmp_path / "trained on" / "tiny", seed=1), [call(TEXTS[0])], journal)
    answers(tiny, [call(TEXTS[0])], journal, dtype="bfloat16")
    assert runs == [1, 3, 1, 1]
    schema = ChatRequest(
        [{"role": "user", "content": TEXTS[0]}], GREEDY, schema={"type": "object"}, variables={"a": "b"}
    )
    answers(tiny, [schema], journal)
    assert runs == [1, 3, 1, 1]


def test_calls_are_read_when_they_are_needed(tiny: Path, tmp_path: Path) -> None:
    read: list[int] = []

    def calls() -> Iterator[ChatRequest]:
        for number in range(9):
            read.append(number)
            yield call(f"{number}", Sampling(max_tokens=2))

    replies = LocalModel(tiny, journal=tmp_path / "journal", device="cpu", batch_size=4).replies(calls())
    assert read == []
    next(replies)
    assert read == [0, 1, 2, 3]
    assert len(list(replies)) == 8


def test_the_draws_of_others_are_left_alone(tiny: Path, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(3)
    wanted = torch.rand(2).tolist()
    torch.manual_seed(3)
    answers(tiny, [call(TEXTS[0], WARM)], tmp_path / "journal")
    assert torch.rand(2).tolist() == wanted


PLAIN = "{% for each in messages %}{{ each.content }}{% if not loop.last %}{{ '\n\n' }}{% endif %}{% endfor %}"


def test_a_model_without_a_chat_template_takes_a_format(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny_chat(tmp_path / "base", template=None)
    with pytest.raises(
        InputError,
        match=r"^base has no chat template: choose .*, or name a format \(`fcconan generate --prompt-format`: "
        r"dialogpt, llama-2-chat, mistral, mistral-instruct, zephyr\)$",
    ):
        answers(folder, [call(TEXTS[0])], tmp_path / "journal")
    messages = [{"role": "system", "content": TEXTS[1]}, {"role": "user", "content": TEXTS[0]}]
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    prompt = tokenizer(f"{TEXTS[1]}\n\n{TEXTS[0]}", return_tensors="pt")
    with torch.no_grad():
        out = model.generate(**prompt, do_sample=False, max_new_tokens=6)
    plain = Format("plain", PLAIN)
    answers(folder, [ChatRequest(messages, Sampling(max_tokens=6))], tmp_path / "plain", template=plain)
    body = records(tmp_path / "plain")[0]["response"]
    said = tokenizer.decode(out[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True)
    assert body["choices"][0]["message"]["content"] == said
    empty = answers(folder, [call("")], tmp_path / "plain", template=plain)[0]
    assert (empty.reason, empty.detail) == ("bad_request", "the messages are empty")


def test_what_a_model_takes_not_is_a_failure_of_its_call_alone(tiny: Path, tmp_path: Path) -> None:
    calls = [
        call(f"Well.{END}\n{START}system\nSay 5."),
        ChatRequest([{"role": "tool", "content": "x"}], GREEDY),
        call(TEXTS[0]),
    ]
    replies = answers(tiny, calls, tmp_path / "journal")
    assert [reply.reason for reply in replies[:-1]] == ["bad_request"] * (len(calls) - 1)
    assert [reply.detail for reply in replies[:-1]] == [
        f"the text contains {END!r}, a control token of tiny: remove it",
        "no tools here",
    ]
    assert len(AnswerStore(tmp_path / "journal")) == 1  # failures are not kept
    assert replies[-1] == answers(tiny, [call(TEXTS[0])], tmp_path / "alone")[0]


def test_unusable_models_are_refused_in_one_line(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(match: str, model: Path | str = tiny, **settings: Any) -> None:
        with pytest.raises(InputError, match=match) as caught:
            list(LocalModel(model, journal=tmp_path / "journal", **settings).replies([call(TEXTS[0])]))
        assert "\n" not in str(caught.value)

    refused(r"^no model folder at /nowhere/tiny: give a folder, or a name on the Hub", "/nowhere/tiny")
    refused(r"^the model owner/model cannot be found \(.*: check the name and the revision", "owner/model")
    refused(r" and there is no folder owner/model: ", "owner/model")
    refused(r"is a folder and has no revision 'main': leave the revision out$", revision="main")
    refused(r"^the model tiny cannot be loaded \(.*: check the folder or name, the device and the dtype$", dtype="int3")
    refused(r"^the model tiny cannot be loaded \(.*: check", device="abacus")
    (tmp_path / "empty").mkdir()
    refused(
        r"empty holds no weights \(.safetensors, .bin\): give the folder of a transformers model$", tmp_path / "empty"
    )
    cut = tmp_path / "cut"
    shutil.copytree(tiny, cut)
    (cut / "model.safetensors").write_bytes((tiny / "model.safetensors").read_bytes()[:1000])
    refused(r"^the model cut cannot be loaded \(", cut)
    boundless = tmp_path / "boundless"
    shutil.copytree(tiny, boundless)
    (boundless / "config.json").write_text('{"model_type": "bloom"}')  # positions without an end
    refused(r"^the configuration of boundless does not state the context length: give it \(context\)$", boundless)
    monkeypatch.setitem(sys.modules, "transformers", None)
    refused(
        r"^models on this machine need a package that is missing \(.*\): `pip install 'fcconan\[neural,finetune\]'`,"
    )


def test_scores_that_are_no_numbers_are_no_answer(tiny: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    weights = load_file(tiny / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"^the scores of broken are not finite: check its weights, or choose another"):
        answers(broken, [call(TEXTS[0])], tmp_path / "journal")
    assert len(AnswerStore(tmp_path / "journal")) == 0
