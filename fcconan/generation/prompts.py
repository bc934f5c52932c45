"""Prompts for generation: the chat messages for one hateful message."""

from dataclasses import dataclass
from pathlib import Path

from fcconan.data import catalogue_entry, content_folder
from fcconan.errors import InputError
from fcconan.generation.items import Example, Item, PromptContext
from fcconan.judging import PromptTemplate, load_prompt
from fcconan.models import Messages

HATE_SPEECH, BACKGROUND, LANGUAGE = "hate_speech", "background", "language"
VARIABLES = (HATE_SPEECH, BACKGROUND, LANGUAGE)
EXAMPLES = "examples"  # the turns of examples; not a variable of prompt files
_LANGUAGES = {
    "ca": "Catalan",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "eu": "Basque",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
}
_ITS_OWN = "the language of the message"


@dataclass(frozen=True)
class GenerationPrompt:
    """A prompt whose last message is the user's: the hateful message, with or without further text.

    Attributes:
        name: Name of the prompt in the catalogue, or of its file.
        prompt: Chat messages with variables.
    """

    name: str
    prompt: PromptTemplate

    @property
    def hash(self) -> str:
        """12 hexadecimal digits that change with the messages."""
        return self.prompt.hash

    @property
    def variables(self) -> frozenset[str]:
        """The variables of the prompt, a subset of `VARIABLES`."""
        return self.prompt.variables

    def messages(self, item: Item, shown: PromptContext) -> tuple[Messages, dict[str, str]]:
        """Returns the chat messages for an item, and the values of the variables.

        Each example becomes two turns before the last message: the last message with the HS of the example, and its CN.

        Raises:
            InputError: There are examples, and their turns would contain background of the item.
        """
        self._check_examples(shown)
        values = {
            HATE_SPEECH: item.hate_speech.strip(),
            BACKGROUND: "\n\n".join(passage.strip() for passage in shown.background),
            LANGUAGE: language_name(item.language),
        }
        *before, last = self.prompt.render(values)
        turns = [turn for example in shown.examples for turn in self._turns(example, values)]
        messages = [{**message, "content": message["content"].strip()} for message in [*before, *turns, last]]
        filled = {name: value for name, value in values.items() if name in self.variables}
        if turns:
            filled[EXAMPLES] = "\n\n".join(turn["content"] for turn in turns)
        return messages, filled

    def _turns(self, example: Example, values: dict[str, str]) -> Messages:
        asked = PromptTemplate(self.prompt.messages[-1:]).render({**values, HATE_SPEECH: example.hate_speech.strip()})[
            0
        ]
        return [
            {**asked, "content": asked["content"].strip()},
            {"role": "assistant", "content": example.counter_narrative.strip()},
        ]

    def _check_examples(self, shown: PromptContext) -> None:
        if shown.examples and BACKGROUND in PromptTemplate(self.prompt.messages[-1:]).variables:
            raise InputError(
                f"the last message of the prompt {self.name} shows {{{{{BACKGROUND}}}}}, which examples do not have: "
                "put it into the message of the system"
            )


def prompt_names() -> list[str]:
    """Returns the names of the prompts in the catalogue, sorted."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def load_generation_prompt(name_or_path: str | Path) -> GenerationPrompt:
    """Loads a prompt.

    Args:
        name_or_path: A prompt of the catalogue, or the path of a prompt file of one's own (it ends in `.yaml` or
            `.yml`): a list of entries with `role` and `content`, the last one the user's, with `{{hate_speech}}`.

    Raises:
        InputError: The prompt is unknown, or the file holds something else.
    """
    known = {name: _folder() / f"{name}.yaml" for name in prompt_names()}
    path = catalogue_entry("prompt", str(name_or_path), known)
    prompt = load_prompt(path, known=VARIABLES, needed=(HATE_SPEECH,))
    last = PromptTemplate(prompt.messages[-1:])
    if prompt.messages[-1][0] != "user" or HATE_SPEECH not in last.variables:
        raise InputError(
            f"{path}: the last message is the {prompt.messages[-1][0]}'s, with "
            f"{', '.join(sorted(last.variables)) or 'no variable'} in it; end by a message of the user that shows "
            f"{{{{{HATE_SPEECH}}}}}"
        )
    return GenerationPrompt(path.stem, prompt)


def language_name(code: str | None) -> str:
    """Returns the English name of a language code for prompts; without a code, a phrase that fits any language."""
    if code is None or not code.strip():
        return _ITS_OWN
    return _LANGUAGES.get(code.strip().lower().replace("_", "-").partition("-")[0], code.strip())


def _folder() -> Path:
    return content_folder() / "annotations" / "generation" / "prompts"
