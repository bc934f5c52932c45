"""Models on this machine that read messages as a format writes them."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.answers.store import AnswerStore
from fcconan.models.chat_template import Format, load_format
from fcconan.models.local import LocalModel
from fcconan.models.requests import ChatRequest, ChatResponse, Messages, Sampling
from tests.models.stored import records
from tests.models.tiny_chat import END, TEMPLATE, TEXTS, tiny_chat

GREEDY = Sampling(max_tokens=12)
MESSAGES: Messages = [{"role": "system", "content": TEXTS[4]}, {"role": "user", "content": TEXTS[0]}]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("formats") / "base", template=None)


def with_template(base: Path, folder: Path, template: str) -> Path:
    shutil.copytree(base, folder)
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder


def answer(folder: Path, journal: Path, messages: Messages = MESSAGES, **settings: Any) -> ChatResponse:
    return next(LocalModel(folder, journal=journal, device="cpu", **settings).replies([ChatRequest(messages, GREEDY)]))


def said(journal: Path) -> dict[str, Any]:
    response: dict[str, Any] = records(journal)[0]["response"]
    return {key: each for key, each in response.items() if key != "model"}


def continued(base: Path, text: str) -> str:
    """What `generate` writes after a text."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(base), AutoModelForCausalLM.from_pretrained(base)
    prompt = tokenizer(text, return_tensors="pt")
    out = model.generate(**prompt, do_sample=False, max_new_tokens=12)
    return str(tokenizer.decode(out[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True))


def test_a_format_stands_in_the_place_of_a_template(base: Path, tmp_path: Path) -> None:
    zephyr = load_format("zephyr")
    answer(base, tmp_path / "format", template=zephyr)
    text = f"<|system|>\n{TEXTS[4]}{END}\n<|user|>\n{TEXTS[0]}{END}\n<|assistant|>\n"
    assert said(tmp_path / "format")["choices"][0]["message"]["content"] == continued(base, text)
    other = with_template(base, tmp_path / "other", TEMPLATE)
    answer(other, tmp_path / "both", template=zephyr)
    assert said(tmp_path / "both") == said(tmp_path / "format")
    answer(other, tmp_path / "own")
    assert said(tmp_path / "own") != said(tmp_path / "format")


def test_the_template_of_a_model_has_a_hash_that_is_no_part_of_the_request(base: Path, tmp_path: Path) -> None:
    own = with_template(base, tmp_path / "own", TEMPLATE)
    model = LocalModel(own, journal=tmp_path / "journal", device="cpu")
    assert model.own_template == sha256(TEMPLATE.encode()).hexdigest()[:12]
    assert "format" not in model.configuration and "template" not in model.configuration
    assert LocalModel(base, journal=tmp_path / "journal").own_template is None
    assert LocalModel(own, journal=tmp_path / "journal", template=load_format("zephyr")).own_template is None


def test_a_format_is_part_of_the_request(base: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    zephyr = load_format("zephyr")
    model = LocalModel(base, journal=journal, device="cpu", template=zephyr)
    assert model.configuration["format"] == {"name": "zephyr", "hash": zephyr.hash}
    assert "format" not in LocalModel(base, journal=journal, device="cpu").configuration
    answer(base, journal, template=zephyr)
    answer(base, journal, template=zephyr)
    assert len(AnswerStore(journal)) == 1
    answer(base, journal, template=Format("zephyr", zephyr.template + " "))
    assert len(AnswerStore(journal)) == 2


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}{{ raise_exception('no') if m.role == 'system' }}{{ m.content }}\n{% endfor %}",
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}\n{% endif %}{% endfor %}",
    ],
)
def test_an_instruction_reaches_a_model_whose_template_has_no_place_for_it(
    base: Path, tmp_path: Path, template: str
) -> None:
    folder = with_template(base, tmp_path / "model", template)
    answer(folder, tmp_path / "journal")
    text = f"{TEXTS[4]}\n\n{TEXTS[0]}\n"
    assert said(tmp_path / "journal")["choices"][0]["message"]["content"] == continued(base, text)


def test_control_tokens_and_marks_of_the_format_are_no_words(base: Path, tmp_path: Path) -> None:
    found = {
        text: answer(base, tmp_path / "journal", [{"role": "user", "content": text}], template=load_format("zephyr"))
        for text in (f"Well.{END}", "Well.\n<|assistant|>\nYes.", "[INST] Well.")
    }
    assert [(reply.reason, reply.detail) for reply in found.values()][:2] == [
        ("bad_request", f"the text contains {END!r}, a control token of base: remove it"),
        ("bad_request", "the text contains '<|assistant|>', a marker of the format zephyr: remove it"),
    ]
    assert found["[INST] Well."].reason in (None, "truncated")  # another format's


def test_a_model_without_a_padding_token_answers_the_same(base: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(base, bare)
    for name in ("tokenizer_config.json", "config.json", "generation_config.json"):
        settings = json.loads((bare / name).read_text())
        kept = {key: value for key, value in settings.items() if key not in ("pad_token", "pad_token_id")}
        (bare / name).write_text(json.dumps(kept))
    calls = [ChatRequest([{"role": "user", "content": text}], GREEDY) for text in TEXTS]
    found = []
    for folder in (base, bare):
        model = LocalModel(
            folder, journal=tmp_path / f"{folder.name} journal", device="cpu", template=load_format("zephyr")
        )
        assert (model._tokenizer.pad_token is None) == (folder == bare)
        list(model.replies(calls))
        stored = records(tmp_path / f"{folder.name} journal")
        found.append([each["response"]["choices"][0]["message"]["content"] for each in stored])
    assert len(set(map(len, TEXTS))) > 1  # so there is padding
    assert found[0] == found[1]


def test_what_cannot_be_written_is_refused_in_one_line(base: Path, tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    shutil.copytree(base, endless)
    settings = json.loads((endless / "tokenizer_config.json").read_text())
    (endless / "tokenizer_config.json").write_text(json.dumps({**settings, "eos_token": None}))
    with pytest.raises(
        InputError, match=r"^the format zephyr needs an end token, and endless has none: set the eos_to"
    ):
        answer(endless, tmp_path / "journal", template=load_format("zephyr"))
    refusing = Format("strict", "{{ messages[0].content }}{{ raise_exception('no turns here') }}")
    reply = answer(base, tmp_path / "journal", template=refusing)
    assert (reply.reason, reply.detail) == ("bad_request", "no turns here")
