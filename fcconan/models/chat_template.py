"""Chat templates: from messages to the tokens of a model.

The token that begins a text occurs once, because only the template adds it. Instructions are never lost: if a template
ignores system messages, they are put before the next user message.
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
# Put before a continuation, so that tokenizers do not treat it as the beginning of a text.
_ANCHOR = "\n"


@dataclass(frozen=True)
class Format:
    """A chat template.

    Attributes:
        name: Name of the format.
        template: Jinja template of `messages` (role and content of each), `add_generation_prompt`, `bos_token` and
            `eos_token`, as for tokenizers. A comment `{# marks: ["[INST]"] #}` lists the markers around messages as
            JSON; messages that contain one are refused.

    Raises:
        InputError: The marks are not a list of texts.
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
        """The markers around messages that are not special tokens.

        Raises:
            InputError: The list in the template is invalid.
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
    """Returns messages in the format of a model.

    Args:
        tokenizer: Tokenizer of transformers.
        messages: Role and content of each message.
        template: Chat template; None for the tokenizer's own.
        prompt: Whether to add the beginning of the model's answer.

    Raises:
        Exception: The template refuses the messages, also with merged system messages.
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
    """Returns the tokens of a prompt; for the arguments see `render`.

    Raises:
        Exception: The template refuses the messages.
    """
    return _encoded(tokenizer, render(tokenizer, messages, template))


def encode_pair(tokenizer: Any, template: str | None, messages: Messages, reply: str) -> tuple[list[int], int]:
    """Returns a prompt with its answer as tokens for training.

    Args:
        tokenizer: Tokenizer of transformers, with an end token.
        template: Chat template; None for the tokenizer's own.
        messages: Prompt, without control tokens.
        reply: Answer, without control tokens.

    Returns:
        The tokens of the prompt, equal to `prompt_tokens`, of the answer, and one end token (anything else that the
        template adds after an answer is omitted); and the number of prompt tokens.

    Raises:
        Exception: The template refuses the messages.
    """
    reply = reply.strip()
    text = render(tokenizer, messages, template)
    prompt = _encoded(tokenizer, text)
    answer = _before_answer(tokenizer, template, messages, reply, text) + reply
    whole = _encoded(tokenizer, text + answer)
    if whole[: len(prompt)] != prompt:  # a token spans the end of the prompt and the beginning of the answer
        whole = prompt + _continued(tokenizer, answer)
    return [*whole, tokenizer.eos_token_id], len(prompt)


def control_tokens(tokenizer: Any) -> list[str]:
    """Returns all special tokens of a tokenizer, sorted."""
    added = tokenizer.added_tokens_decoder.values()
    return sorted({*tokenizer.all_special_tokens, *(token.content for token in added if token.special)})


def find_token(texts: Iterable[str], tokens: Sequence[str]) -> str | None:
    """Returns the first token that occurs in one of the texts, or None."""
    return next((token for text in texts for token in tokens if token in text), None)


def _before_answer(tokenizer: Any, template: str | None, messages: Messages, reply: str, prompt: str) -> str:
    """Returns the white space that a template adds between prompt and answer."""
    try:
        text = render(tokenizer, [*messages, {"role": "assistant", "content": reply}], template, prompt=False)
    except Exception:  # some templates format prompts only
        return ""
    between, found, _ = text.removeprefix(prompt).partition(reply)
    # Some templates format an earlier answer differently from the answer to generate.
    return between if text.startswith(prompt) and found and not between.strip() else ""


def _rendered(tokenizer: Any, messages: Messages, template: str | None, prompt: bool) -> str:
    return str(
        tokenizer.apply_chat_template(messages, chat_template=template, add_generation_prompt=prompt, tokenize=False)
    )


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _continued(tokenizer: Any, text: str) -> list[int]:
    """Returns the tokens of a text that continues another one."""
    before, whole = _encoded(tokenizer, _ANCHOR), _encoded(tokenizer, _ANCHOR + text)
    return whole[len(before) :] if whole[: len(before)] == before else _encoded(tokenizer, text)


def _shows(text: str, messages: Messages, content: str) -> bool:
    """Returns whether a text contains a system message, in addition to occurrences in other messages."""
    words = content.strip()
    others = sum(each["content"].count(words) for each in messages if each["role"] != "system")
    return not words or text.count(words) > others


def _merged(messages: Messages) -> Messages:
    """Puts system messages before the next user message."""
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
        name_or_path: Name of a format in the catalogue, or path of a chat template (`.jinja`).

    Raises:
        InputError: The format is unknown, or the file is not a Jinja template.
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
            f"{path}, line {error.lineno}: invalid Jinja template ({error.message}): correct that line"
        ) from error
    if "messages" not in used:
        raise InputError(f"{path} does not use `messages`: give a chat template")


def _folder() -> Path:
    return content_folder() / "annotations" / "generation" / "formats"
