"""Formats against token sequences that were written out by hand, with tokenizers like those of the real models."""

from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.chat_template import Format, encode_pair, format_names, load_format, prompt_tokens, render
from fcconan.models.requests import Messages
from tests.generation.real_tokenizers import LLAMA_2, MISTRAL_INSTRUCT, ZEPHYR, gpt_like, letters, llama_like

SYSTEM = {"role": "system", "content": "Answer kindly."}
USER = {"role": "user", "content": "Ombrey sing."}
REPLY = "They do."
ZERO_SHOT: Messages = [SYSTEM, USER]
ONE_SHOT: Messages = [
    SYSTEM,
    {"role": "user", "content": "Tessok cheat."},
    {"role": "assistant", "content": "No."},
    USER,
]
END = "<|endoftext|>"

# `|` is a break of line, `_` the mark of a space.
GOLDEN = {
    "mistral": (
        "<s> _Answer _kindly. | | ### _Input: | Ombrey _sing. | | ### _Output: |",
        "<s> _Answer _kindly. | | ### _Input: | Tessok _cheat. | | ### _Output: | No. | | "
        "### _Input: | Ombrey _sing. | | ### _Output: |",
        "They _do. </s>",
    ),
    "mistral-instruct": (
        "<s> _[INST] _Answer _kindly. | | Ombrey _sing. _[/INST]",
        "<s> _[INST] _Answer _kindly. | | Tessok _cheat. _[/INST] _No. </s> _[INST] _Ombrey _sing. _[/INST]",
        "_They _do. </s>",
    ),
    "zephyr": (
        "<s> _<|system|> | Answer _kindly. </s> _ | <|user|> | Ombrey _sing. </s> _ | <|assistant|> |",
        "<s> _<|system|> | Answer _kindly. </s> _ | <|user|> | Tessok _cheat. </s> _ | <|assistant|> | No. </s> _ | "
        "<|user|> | Ombrey _sing. </s> _ | <|assistant|> |",
        "They _do. </s>",
    ),
    "llama-2-chat": (
        "<s> _[INST] _<<SYS>> | Answer _kindly. | <</SYS>> | | Ombrey _sing. _[/INST]",
        "<s> _[INST] _<<SYS>> | Answer _kindly. | <</SYS>> | | Tessok _cheat. _[/INST] _No. _ </s> "
        "<s> _[INST] _Ombrey _sing. _[/INST]",
        "_They _do. </s>",
    ),
}
# What the models' own templates make of the same.
OWN = {
    "mistral-instruct": (
        MISTRAL_INSTRUCT,
        # The space before it meets the one that the tokenizer adds.
        "<s> _ _[INST] _Answer _kindly. | | Ombrey _sing. _[/INST]",
        "<s> _ _[INST] _Answer _kindly. | | Tessok _cheat. _[/INST] _No. </s> _ _[INST] _Ombrey _sing. _[/INST]",
        "_They _do. </s>",
    ),
    "zephyr": (
        ZEPHYR,
        # It has no begin-of-text token.
        "_<|system|> | Answer _kindly. </s> _ | <|user|> | Ombrey _sing. </s> _ | <|assistant|> |",
        "_<|system|> | Answer _kindly. </s> _ | <|user|> | Tessok _cheat. </s> _ | <|assistant|> | No. </s> _ | "
        "<|user|> | Ombrey _sing. </s> _ | <|assistant|> |",
        "They _do. </s>",
    ),
    "llama-2-chat": (LLAMA_2, *GOLDEN["llama-2-chat"]),
}


def pieces(tokenizer: Any, tokens: list[int]) -> list[str]:
    found: list[str] = tokenizer.convert_ids_to_tokens(tokens)
    assert tokenizer.unk_token not in found or tokenizer.unk_token == tokenizer.eos_token
    return found


def written(golden: str) -> list[str]:
    return [piece.replace("<|", "\0").replace("|>", "\1").replace("|", "\n").replace("_", "▁")
            .replace("\0", "<|").replace("\1", "|>") for piece in golden.split()]  # fmt: skip


def check(tokenizer: Any, template: str | None, golden: tuple[str, str, str]) -> None:
    zero, one, answer = (written(each) for each in golden)
    assert pieces(tokenizer, prompt_tokens(tokenizer, ZERO_SHOT, template)) == zero
    assert pieces(tokenizer, prompt_tokens(tokenizer, ONE_SHOT, template)) == one
    for messages, prompt in ((ZERO_SHOT, zero), (ONE_SHOT, one)):
        tokens, length = encode_pair(tokenizer, template, messages, REPLY)
        assert tokens[:length] == prompt_tokens(tokenizer, messages, template)
        assert pieces(tokenizer, tokens) == prompt + answer


@pytest.mark.parametrize("name", GOLDEN)
def test_named_formats_give_the_tokens_written_out_by_hand(name: str) -> None:
    check(llama_like(), load_format(name).template, GOLDEN[name])
    check(llama_like("{{ 'ignored' }}"), load_format(name).template, GOLDEN[name])


@pytest.mark.parametrize("name", OWN)
def test_templates_of_tokenizers_give_the_tokens_written_out_by_hand(name: str) -> None:
    template, *golden = OWN[name]
    check(llama_like(template), None, (golden[0], golden[1], golden[2]))


def test_dialogpt_reads_turns_that_end_and_nothing_else() -> None:
    tokenizer, template = gpt_like(), load_format("dialogpt").template
    said = ["Ombrey", "Ġsing", ".", END]
    assert pieces(tokenizer, prompt_tokens(tokenizer, [USER], template)) == said
    shown = ["Tessok", "Ġcheat", ".", END, "No", ".", END, *said]
    assert pieces(tokenizer, prompt_tokens(tokenizer, ONE_SHOT[1:], template)) == shown
    # There is no place for an instruction: it stands before the first message.
    told = ["Answer", "Ġkindly", ".", "Ċ", "Ċ", *said]
    assert pieces(tokenizer, prompt_tokens(tokenizer, ZERO_SHOT, template)) == told
    tokens, length = encode_pair(tokenizer, template, [USER], REPLY)
    assert (pieces(tokenizer, tokens), length) == ([*said, "They", "Ġdo", ".", END], 4)


@pytest.mark.parametrize("template", [None, *GOLDEN])
def test_what_begins_a_text_stands_once(template: str | None) -> None:
    tokenizer = llama_like(LLAMA_2)
    text = None if template is None else load_format(template).template
    tokens = prompt_tokens(tokenizer, ZERO_SHOT, text)
    assert tokens.count(tokenizer.bos_token_id) == 1
    # Who encodes the rendered text as any text gets two.
    assert tokenizer(render(tokenizer, ZERO_SHOT, text))["input_ids"] == [tokenizer.bos_token_id, *tokens]
    own = tokenizer.apply_chat_template(
        ZERO_SHOT if text is None else [USER], chat_template=text, add_generation_prompt=True, return_dict=False
    )
    assert own == (tokens if text is None else prompt_tokens(tokenizer, [USER], text))


QUIET = "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% endif %}{% endfor %}"
REFUSES = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}|"
    "{% endfor %}"
)


def test_an_instruction_is_never_left_out() -> None:
    merged = "Answer kindly.\n\nOmbrey sing."
    assert render(llama_like(QUIET), ZERO_SHOT) == f"[INST] {merged} [/INST]"
    assert render(llama_like(REFUSES), ZERO_SHOT) == f"{merged}|"
    assert render(llama_like(REFUSES), ONE_SHOT) == "Answer kindly.\n\nTessok cheat.|No.|Ombrey sing.|"
    # An instruction that the message repeats is looked for apart from it.
    twice = [SYSTEM, {"role": "user", "content": "Answer kindly. Ombrey sing."}]
    assert render(llama_like(QUIET), twice) == "[INST] Answer kindly.\n\nAnswer kindly. Ombrey sing. [/INST]"
    # Where nothing was lost, nothing is moved.
    assert render(llama_like(ZEPHYR), twice).startswith("<|system|>\nAnswer kindly.</s>\n<|user|>\nAnswer kindly. Om")
    assert render(llama_like(REFUSES), [USER, SYSTEM]) == "Ombrey sing.|Answer kindly.|"
    with pytest.raises(Exception, match=r"user and assistant alternate"):
        render(llama_like(MISTRAL_INSTRUCT), [USER, USER])
    with pytest.raises(Exception, match=r"user and assistant alternate"):
        render(llama_like(MISTRAL_INSTRUCT), [SYSTEM, USER, USER])


@pytest.mark.parametrize(
    ("template", "between"),
    [
        ("{% for m in messages %}{{ m.content }}:{% endfor %}", ""),  # more after every message
        ("{% for m in messages %}{{ m.content }}</s>{% endfor %}", ""),  # an end, and ours is not a second one
        ("{% for m in messages %}{{ m.content }}</s>: :{% endfor %}{{ ' ' }}", ""),
        ("{% for m in messages %}{{ ' ' ~ m.content }}{% endfor %}", " "),
        ("{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}:b{% endif %}", ""),
        ("{{ messages[-1].content if messages[-1].role == 'user' else raise_exception('no') }}:", ""),  # prompts only
    ],
)
def test_a_pair_is_its_prompt_its_answer_and_one_end(template: str, between: str) -> None:
    tokenizer = letters(template, merges=[])
    messages = [{"role": "user", "content": "abc"}]
    tokens, length = encode_pair(tokenizer, None, messages, " xyz\n")
    assert tokens[:length] == prompt_tokens(tokenizer, messages)
    assert pieces(tokenizer, tokens[length:]) == [*between, "x", "y", "z", "</s>"]


def test_a_token_across_the_border_of_prompt_and_answer_is_taken_apart() -> None:
    tokenizer = letters(
        "{{ messages[0].content }}:{{ messages[1].content if messages[1:] else '' }}", merges=[(":", "x")]
    )
    messages = [{"role": "user", "content": "abc"}]
    assert pieces(tokenizer, tokenizer("abc:xyz", add_special_tokens=False)["input_ids"])[3] == ":x"
    tokens, length = encode_pair(tokenizer, None, messages, "xyz")
    assert (pieces(tokenizer, tokens), length) == ([*"abc:", *"xyz", "</s>"], 4)


def test_formats_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert format_names() == ["dialogpt", "llama-2-chat", "mistral", "mistral-instruct", "zephyr"]
    zephyr = load_format("zephyr")
    own = tmp_path / "my zephyr.jinja"
    own.write_text(zephyr.template, encoding="utf-8")
    assert load_format(own) == Format("my zephyr", zephyr.template)
    assert load_format(str(own)).hash == zephyr.hash
    assert len({load_format(name).hash for name in format_names()} | {Format("", zephyr.template + " ").hash}) == 6
    assert len(zephyr.hash) == 12 and set(zephyr.hash) <= set("0123456789abcdef")


def test_a_format_lists_what_it_sets_around_messages() -> None:
    for name in format_names():
        loaded = load_format(name)
        text = render(llama_like(), ONE_SHOT, loaded.template)
        assert all(mark in text for mark in loaded.marks)
        assert bool(loaded.marks) == (name != "dialogpt")
    assert load_format("llama-2-chat").marks == ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>")
    with pytest.raises(InputError, match=r"^the format own lists the marks \[INST\]: write them as a JSON list"):
        Format("own", "{# marks: [INST] #}{{ messages }}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("zefyr", None, r"^unknown format 'zefyr': did you mean 'zephyr'\? known are dialogpt, .*, or a .jinja file$"),
        ("no.jinja", None, r"^no format file at \S+no.jinja: give a .jinja file, or one of"),
        ("bad.jinja", b"{% for %}", r"bad.jinja, line 1: invalid Jinja template \(.*\): correct that line$"),
        ("bad.jinja", b"{{ message }}", r"bad.jinja does not use `messages`: give a chat template$"),
        ("bad.jinja", b"{{ messages }}\xff", r"bad.jinja: byte 14 is not UTF-8: save it as UTF-8$"),
    ],
)
def test_bad_formats_are_refused_in_one_line(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_format(path if path.suffix else name)
    assert "\n" not in str(caught.value)
