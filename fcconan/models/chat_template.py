"""Chat templates: from messages to the tokens of a model.

The token that begins a text occurs once, because only the template adds it. Instructions are never lost: if a template
has no system messages, they are put before the next user message.
"""

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from fcconan.data import catalogue_entry, content_folder, read_text
from fcconan.models.requests import Messages

SUFFIX = ".jinja"
_MARKS = re.compile(r"\{#-?\s*marks:\s*(\[.*?\])\s*-?#\}", re.DOTALL)
# Put before an answer that is encoded alone, so that tokenizers do not treat it as the beginning of a text.
_ANCHOR = "\n"


class Format(NamedTuple):
    """A chat template.

    Attributes:
        name: Name of the format.
        template: Jinja template of `messages` (role and content of each), `add_generation_prompt`, `bos_token` and
            `eos_token`, as for tokenizers. A comment `{# marks: ["[INST]"] #}` lists the markers around messages that
            are not special tokens, as JSON; messages that contain one are refused.
    """

    name: str
    template: str

    @property
    def hash(self) -> str:
        """12 hexadecimal digits that change with the template."""
        return sha256(self.template.encode()).hexdigest()[:12]

    @property
    def marks(self) -> list[str]:
        """The markers around messages."""
        found = _MARKS.search(self.template)
        return [*map(str, json.loads(found[1]))] if found else []


def _formats() -> dict[str, Path]:
    folder = content_folder() / "annotations" / "generation" / "formats"
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stem)}


def format_names() -> list[str]:
    """Returns the names of the formats in the catalogue, sorted."""
    return [*_formats()]


def load_format(name_or_path: str | Path) -> Format:
    """Loads a format.

    Args:
        name_or_path: Name of a format in the catalogue, or path of a chat template (`.jinja`).

    Raises:
        InputError: The format is unknown.
    """
    path = catalogue_entry("format", str(name_or_path), _formats(), (SUFFIX,))
    return Format(path.stem, read_text(path))


def prompt_tokens(tokenizer: Any, messages: Messages, template: str | None = None) -> list[int]:
    """Returns the tokens of a prompt.

    Args:
        tokenizer: Tokenizer of transformers.
        messages: Role and content of each message.
        template: Chat template; None for the tokenizer's own.

    Raises:
        Exception: The template refuses the messages, also with merged system messages.
    """
    return _encoded(tokenizer, _rendered(tokenizer, messages, template))


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
    text = _rendered(tokenizer, messages, template)
    try:  # the template may set white space before an answer
        whole = _rendered(tokenizer, [*messages, {"role": "assistant", "content": reply}], template, prompt=False)
    except Exception:  # some templates format prompts only
        whole = ""
    between, found, _ = whole.removeprefix(text).partition(reply)
    if whole.startswith(text) and found and not between.strip():
        reply = between + reply
    prompt, tokens = _encoded(tokenizer, text), _encoded(tokenizer, text + reply)
    if tokens[: len(prompt)] != prompt:  # a token spans the end of the prompt and the beginning of the answer
        anchor, after = _encoded(tokenizer, _ANCHOR), _encoded(tokenizer, _ANCHOR + reply)
        is_apart = after[: len(anchor)] == anchor
        tokens = prompt + (after[len(anchor) :] if is_apart else _encoded(tokenizer, reply))
    return [*tokens, tokenizer.eos_token_id], len(prompt)


def control_tokens(tokenizer: Any) -> list[str]:
    """Returns all special tokens of a tokenizer, sorted."""
    added = tokenizer.added_tokens_decoder.values()
    return sorted({*tokenizer.all_special_tokens, *(token.content for token in added if token.special)})


def find_token(texts: Iterable[str], tokens: Iterable[str]) -> str | None:
    """Returns the first token that occurs in one of the texts, or None."""
    return next((token for text in texts for token in tokens if token in text), None)


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _rendered(tokenizer: Any, messages: Messages, template: str | None, *, prompt: bool = True) -> str:
    """Returns messages as text; system messages are merged if the template refuses or ignores them."""

    def text_of(messages: Messages) -> str:
        how = {"chat_template": template, "add_generation_prompt": prompt, "tokenize": False}
        return str(tokenizer.apply_chat_template(messages, **how))

    merged = _merged(messages)
    try:
        text = text_of(messages)
    except Exception:
        if merged == messages:
            raise
        return text_of(merged)
    told = [each["content"].strip() for each in messages if each["role"] == "system"]
    others = [each["content"] for each in messages if each["role"] != "system"]
    is_shown = all(text.count(words) > sum(other.count(words) for other in others) for words in told if words)
    return text if is_shown else text_of(merged)


def _merged(messages: Messages) -> Messages:
    """Puts system messages before the next user message."""
    merged: Messages = []
    told: list[str] = []
    for message in messages:
        if message["role"] == "system":
            told.append(message["content"].strip())
        elif message["role"] == "user":
            merged.append({**message, "content": "\n\n".join([*told, message["content"]])})
            told = []
        else:
            merged.append(message)
    return [*merged, {"role": "user", "content": "\n\n".join(told)}] if told else merged
