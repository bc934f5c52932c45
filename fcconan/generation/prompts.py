"""Prompts for generation, and settings of decoding with presets of the papers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fcconan.data import catalogue_entry, content_folder, read_yaml
from fcconan.errors import InputError
from fcconan.judging import PromptTemplate, load_prompt
from fcconan.models import Messages

HATE_SPEECH, BACKGROUND, LANGUAGE = "hate_speech", "background", "language"
_LANGUAGES = "Catalan German English Spanish Basque French Italian Dutch Polish Portuguese".split()
_NAMES = dict(zip("ca de en es eu fr it nl pl pt".split(), _LANGUAGES, strict=True))
_ANY_LANGUAGE = "the language of the message"
# Values of settings that a file leaves out.
_USUAL: dict[str, Any] = {
    "temperature": 0.0,
    "top_p": None,
    "top_k": None,
    "max_tokens": 512,
    "stop": [],
    "candidates": 1,
    "pick": "first",
}


def load_generation_prompt(name_or_path: str | Path) -> PromptTemplate:
    """Loads a prompt for generation.

    Args:
        name_or_path: A prompt of the catalogue, or a YAML file: a list of entries with `role` and `content`, the last
            one the user's with `{{hate_speech}}`; other variables are `{{background}}` and `{{language}}`.

    Raises:
        InputError: The prompt is unknown, or the file holds something else.
    """
    path = catalogue_entry(
        "prompt", str(name_or_path), {path.stem: path for path in sorted((_folder() / "prompts").glob("*.yaml"))}
    )
    prompt = load_prompt(path, known=(HATE_SPEECH, BACKGROUND, LANGUAGE), needed=(HATE_SPEECH,))
    if prompt.messages[-1][0] != "user" or HATE_SPEECH not in PromptTemplate(prompt.messages[-1:]).variables:
        raise InputError(f"{path}: end with a message of the user that has {{{{{HATE_SPEECH}}}}}")
    return prompt


def generation_messages(
    prompt: PromptTemplate,
    hate_speech: str,
    *,
    language: str | None = None,
    background: str = "",
    examples: Sequence[tuple[str, str]] = (),
) -> tuple[Messages, dict[str, str]]:
    """Returns the chat messages that ask for a reply, and the values of the variables.

    Args:
        prompt: The prompt.
        hate_speech: The message to reply to.
        language: Its language code.
        background: Passages about it.
        examples: HS and CN of each example. Each becomes two turns before the last message: the last message with the
            HS of the example, and its CN.
    """
    code = (language or "").strip()
    values = {
        HATE_SPEECH: hate_speech.strip(),
        BACKGROUND: background.strip(),
        LANGUAGE: _NAMES.get(code.lower().replace("_", "-").partition("-")[0], code) or _ANY_LANGUAGE,
    }
    *before, last = prompt.render(values)
    turns: Messages = []
    for message, reply in examples:
        (asked,) = PromptTemplate(prompt.messages[-1:]).render({**values, HATE_SPEECH: message.strip()})
        turns += [asked, {"role": "assistant", "content": reply}]
    messages = [{**each, "content": each["content"].strip()} for each in (*before, *turns, last)]
    filled = {name: value for name, value in values.items() if name in prompt.variables}
    if turns:
        filled["examples"] = "\n\n".join(each["content"].strip() for each in turns)
    return messages, filled


def load_decoding(name_or_path: str, **changed: Any) -> tuple[str, dict[str, Any]]:
    """Loads settings of decoding.

    Args:
        name_or_path: A preset, or a YAML file with some of temperature, top_p, top_k, max_tokens, stop, candidates and
            pick (first or random).
        changed: Settings to change; None for unchanged ones.

    Returns:
        The name of the preset with the changed settings; and all settings.

    Raises:
        InputError: The preset or a setting is unknown.
    """
    presets = read_yaml(_folder() / "decoding.yaml")
    path = catalogue_entry("decoding", name_or_path, dict.fromkeys(presets, Path()))
    given = presets.get(name_or_path) or read_yaml(path)
    settings = {**_USUAL, **given}
    if {*settings} != {*_USUAL} or settings["pick"] not in ("first", "random"):
        raise InputError(
            f"{name_or_path} has {', '.join(f'{name}: {each}' for name, each in given.items())}, expected some of "
            f"{', '.join(_USUAL)} (first or random)"
        )
    changed = {name: value for name, value in changed.items() if value not in (None, settings[name])}
    name = path.stem or name_or_path
    return ", ".join([name, *(f"{key}={value}" for key, value in changed.items())]), settings | changed


def _folder() -> Path:
    return content_folder() / "annotations" / "generation"
