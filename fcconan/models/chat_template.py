"""Chat templates: messages become the tokens that a model reads.

What begins a text stands once, because the template alone puts it there. An instruction is never left out: where a
template has no place for it, it goes to the front of the message that follows.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from fcconan.data import catalogue_entry, content_folder, read_text
from fcconan.errors import InputError
from fcconan.models.requests import Messages

_MARKS = re.compile(r"\{#-?\s*marks:\s*(\[.*?\])\s*-?#\}", re.DOTALL)
# Added to both sides of a cut, so that no tokenizer sees the beginning of a text there.
_ANCHOR = "\n"


@dataclass(frozen=True)
class Format:
    """A chat template: how messages are written for a model.

    Attributes:
        name: How it is called.
        template: Jinja, which takes `messages` (role and content of each), `add_generation_prompt` and the tokenizer's
            `bos_token` and `eos_token`, as templates of tokenizers do. A comment `{# marks: ["[INST]"] #}` lists, as
            JSON, the words that it sets around messages; a message that holds one of them is refused.

    Raises:
        InputError: The marks are no list of texts.
    """

    name: str
    template: str

    def __post_init__(self) -> None:
        _ = self.marks

    @property
    def hash(self) -> str:
        """12 hexadecimal digits that change with the template."""
        return sha256(self.template.encode()).hexdigest()[:12]

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """What the template sets around messages, as far as it is no token of its own.

        Raises:
            InputError: The template lists them wrongly.
        """
        found = _MARKS.search(self.template)
        if found is None:
            return ()
        try:
            marks = json.loads(found[1])
        except ValueError:
            marks = None
        if not isinstance(marks, list) or not all(isinstance(mark, str) and mark for mark in marks):
            raise InputError(
                f'the format {self.name} lists the marks {found[1]}: write them as a JSON list, such as ["[INST]"]'
            )
        return tuple(marks)


def render(tokenizer: Any, messages: Messages, template: str | None = None, *, prompt: bool = True) -> str:
    """Returns messages as a model reads them.

    Args:
        tokenizer: Of transformers.
        messages: Role and content of each.
        template: A chat template; None for the tokenizer's own.
        prompt: Whether the answer of the model is to follow.

    Raises:
        Exception: The template refuses the messages, even without a message of the system.
    """
    try:
        text = _rendered(tokenizer, messages, template, prompt)
    except Exception:
        merged = _merged(messages)
        if merged == messages:
            raise
        return _rendered(tokenizer, merged, template, prompt)
    if all(_shows(text, messages, message["content"]) for message in messages if message["role"] == "system"):
        return text
    return _rendered(tokenizer, _merged(messages), template, prompt)


def prompt_tokens(tokenizer: Any, messages: Messages, template: str | None = None) -> list[int]:
    """Returns the tokens after which a model writes its answer; for the arguments see `render`.

    Raises:
        Exception: The template refuses the messages.
    """
    return _encoded(tokenizer, render(tokenizer, messages, template))


def encode_pair(tokenizer: Any, template: str | None, messages: Messages, reply: str) -> tuple[list[int], int]:
    """Returns a prompt with its answer, as a model learns it.

    Args:
        tokenizer: Of transformers, with an end token.
        template: A chat template; None for the tokenizer's own.
        messages: The prompt, without control tokens.
        reply: The answer; the same.

    Returns:
        The tokens of the prompt, exactly as `prompt_tokens` gives them, of the answer, and the tokenizer's end token,
        once and last, whatever the template sets after an answer; and how many of them are the prompt's.

    Raises:
        Exception: The template refuses the messages.
    """
    reply = reply.strip()
    text = render(tokenizer, messages, template)
    prompt = _encoded(tokenizer, text)
    answer = _before_answer(tokenizer, template, messages, reply, text) + reply
    whole = _encoded(tokenizer, text + answer)
    if whole[: len(prompt)] != prompt:  # the last letters of the prompt and the first of the answer make one token
        whole = prompt + _continued(tokenizer, answer)
    return [*whole, tokenizer.eos_token_id], len(prompt)


def control_tokens(tokenizer: Any) -> list[str]:
    """Returns all tokens that a model obeys, sorted."""
    added = tokenizer.added_tokens_decoder.values()
    return sorted({*tokenizer.all_special_tokens, *(token.content for token in added if token.special)})


def held_token(texts: Iterable[str], tokens: Sequence[str]) -> str | None:
    """Returns the first of some tokens that stands in any of the texts."""
    return next((token for text in texts for token in tokens if token in text), None)


def _before_answer(tokenizer: Any, template: str | None, messages: Messages, reply: str, prompt: str) -> str:
    """What a template sets between prompt and answer, such as a space."""
    try:
        text = render(tokenizer, [*messages, {"role": "assistant", "content": reply}], template, prompt=False)
    except Exception:  # it writes prompts only
        return ""
    between, found, _ = text.removeprefix(prompt).partition(reply)
    # Some templates set other words before an answer of earlier than before one that is to come.
    return between if text.startswith(prompt) and found and not between.strip() else ""


def _rendered(tokenizer: Any, messages: Messages, template: str | None, prompt: bool) -> str:
    return str(
        tokenizer.apply_chat_template(messages, chat_template=template, add_generation_prompt=prompt, tokenize=False)
    )


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _continued(tokenizer: Any, text: str) -> list[int]:
    """The tokens of a text that stands in the middle of another."""
    before, whole = _encoded(tokenizer, _ANCHOR), _encoded(tokenizer, _ANCHOR + text)
    return whole[len(before) :] if whole[: len(before)] == before else _encoded(tokenizer, text)


def _shows(text: str, messages: Messages, content: str) -> bool:
    """Whether a text has a message's words more often than its other messages have them."""
    words = content.strip()
    others = sum(each["content"].count(words) for each in messages if each["role"] != "system")
    return not words or text.count(words) > others


def _merged(messages: Messages) -> Messages:
    """Puts what the system says in front of what the user says next."""
    merged: Messages = []
    said: list[str] = []
    for message in messages:
        if message["role"] == "system":
            said.append(message["content"].strip())
        elif message["role"] == "user":
            merged.append({**message, "content": "\n\n".join([*said, message["content"]])})
            said = []
        else:
            merged.append(message)
    return [*merged, {"role": "user", "content": "\n\n".join(said)}] if said else merged


SUFFIX = ".jinja"


def format_names() -> list[str]:
    """Returns the names of the formats in the catalogue, sorted."""
    return sorted(path.stem for path in _folder().glob(f"*{SUFFIX}"))


def load_format(name_or_path: str | Path) -> Format:
    """Loads a format.

    Args:
        name_or_path: A format of the catalogue, or the path of a chat template of one's own (it ends in `.jinja`).

    Raises:
        InputError: The format is unknown, or it is no Jinja template.
    """
    known = {name: _folder() / f"{name}{SUFFIX}" for name in format_names()}
    path = catalogue_entry("format", str(name_or_path), known, (SUFFIX,))
    template = read_text(path)
    _check(path, template)
    return Format(path.stem, template)


def _check(path: Path, template: str) -> None:
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
    try:
        used = find_undeclared_variables(environment.parse(template))
    except TemplateSyntaxError as error:
        raise InputError(
            f"{path}, line {error.lineno}: no Jinja template ({error.message}): correct that line"
        ) from error
    if "messages" not in used:
        raise InputError(f"{path} does not write any `messages`: give a chat template")


def _folder() -> Path:
    return content_folder() / "annotations" / "generation" / "formats"
