"""The options of `generate`, their combinations, and the strategies to which they apply."""

from typing import TYPE_CHECKING, ClassVar, Literal

from fcconan.errors import InputError
from fcconan.services.background import Background
from fcconan.services.configuration import names_by, option
from fcconan.services.locations import FORM
from fcconan.services.options import Decoding, Endpoint, PartSelection

if TYPE_CHECKING:
    from fcconan.generation import Decoding as DecodingSettings
    from fcconan.models import Format

FEW_SHOT, GROUNDED = "few-shot", "grounded"
RETRIEVAL, REFERENCE = "retrieval", "reference"
RETRIEVER, ENCODER = "tfidf", "minilm"
SHOWN = 3  # examples
MOST_CANDIDATES = 10_000
BY_MODEL = ("zero-shot", FEW_SHOT, GROUNDED)
# Options of the generation method, and the strategies to which each applies.
METHOD: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        "model prompt prompt_format decoding temperature top_p top_k max_tokens stop candidates selection "
        "encoder passages".split(),
        BY_MODEL,
    ),
    "examples": (FEW_SHOT, GROUNDED),
    "background": (GROUNDED,),
    "retriever": (RETRIEVAL,),
    "pool": (FEW_SHOT, RETRIEVAL),
}


class GenerateOptions(Background, Decoding, PartSelection, Endpoint):
    """Options of `generate`: the messages, and the source of the replies."""

    structured_output: ClassVar[bool] = True  # type: ignore[misc]  # replies are plain text, so there is no option

    model: str | None = option(
        None,
        help="Language model: a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE.",
        short="-m",
        metavar="NAME",
        role="model",
    )
    strategy: Literal["zero-shot", "few-shot", "grounded", "retrieval", "reference"] | None = option(
        None,
        help="Source of replies: a model (zero-shot, few-shot, grounded), a catalogue (retrieval) or people "
        "(reference); default: the strategy of the other options.",
    )
    prompt: str | None = option(
        None,
        help="Prompt: a name of the catalogue or a prompt file; default: the prompt of the strategy.",
        metavar="NAME or FILE.yaml",
        complete=names_by("fcconan.generation.prompt_names"),
        role="read",
    )
    prompt_format: str | None = option(
        None,
        help="Chat format of a local model: a named format or a Jinja file; default: the template of the model.",
        rare=True,
        metavar="NAME or FILE.jinja",
        complete=names_by("fcconan.models.format_names"),
        role="read",
    )
    decoding: str | None = option(
        None,
        help="Named decoding settings; default: greedy.",
        rare=True,
        metavar="NAME",
        complete=names_by("fcconan.generation.decoding_names"),
    )
    top_p: float | None = option(
        None, help="Share of probability of nucleus sampling.", rare=True, metavar="FLOAT", gt=0, le=1
    )
    top_k: int | None = option(None, help="Number of most likely tokens to sample from.", rare=True, ge=1)
    stop: tuple[str, ...] = option((), help="Text before which a reply ends; \\n is a line break.", rare=True)
    seed: int = option(0, help="Seed of all random choices.", ge=0)
    candidates: int | None = option(
        None, help="Replies to sample for each message.", rare=True, ge=1, le=MOST_CANDIDATES
    )
    selection: Literal["first", "random"] | None = option(
        None, help="Rule that selects one candidate for each message.", rare=True
    )
    examples: int | None = option(None, help="Few-shot examples in the prompt; default: 3.", rare=True, ge=1)
    encoder: str | None = option(
        None,
        help="Encoder that finds few-shot examples: minilm (default), tfidf, or a sentence-transformers model.",
        rare=True,
        metavar="NAME",
    )
    retriever: str | None = option(
        None,
        help="Retrieval system whose first CN is the reply, as in `fcconan bench`; default: tfidf.",
        rare=True,
        complete=names_by("fcconan.retrieval.load_suite"),
        metavar="NAME",
    )
    pool: str | None = option(
        None,
        help="Pairs for examples and retrieval; default: the training part of the dataset.",
        rare=True,
        metavar=FORM,
        role="read",
    )
    system_name: str | None = option(
        None,
        help="Name of the system in the rows.",
        rare=True,
        metavar="NAME",
    )
    limit: int | None = option(None, help="Use only the first messages.", short="-n", ge=1)

    @property
    def used_strategy(self) -> str:
        """The strategy, which the options name or imply.

        Raises:
            InputError: Options do not go with it.
        """
        implied = "zero-shot" if self.examples is None else FEW_SHOT
        if self.retriever is not None:
            implied = RETRIEVAL
        elif self.background is not None:
            implied = GROUNDED
        strategy = self.strategy or implied
        has_examples = strategy == FEW_SHOT or self.examples is not None
        for name, strategies in METHOD.items():
            if strategy not in strategies and not (name == "pool" and has_examples):
                self.refuse(name, why=f"only for --strategy {' or '.join(strategies)}")
        if not has_examples:
            self.refuse("encoder", why="it finds examples, and none are shown")
        if strategy == GROUNDED and self.background is None:
            raise InputError(f"--strategy {GROUNDED} needs passages about the messages: give --background FOLDER")
        return strategy

    def decoding_settings(self) -> "DecodingSettings":
        """Returns the named decoding settings, changed by the options.

        Raises:
            InputError: There are none of this name, or they do not go together.
        """
        from fcconan.generation import USUAL_DECODING, load_decoding

        settings = load_decoding(self.decoding or USUAL_DECODING)
        names = ("temperature", "top_p", "top_k", "max_tokens", "candidates")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.stop:
            given["stop"] = tuple(each.replace("\\n", "\n") for each in self.stop)
        if self.selection is not None:
            given["pick"] = self.selection
        return settings.override(**given) if given else settings

    def chat_format(self) -> "Format | None":
        """Returns the format that replaces the model's chat template; None for the template of the model.

        Raises:
            InputError: The format does not exist, or the model is not local.
        """
        if self.prompt_format is None:
            return None
        from fcconan.models import load_format

        kind, _, name = (self.model or "").partition(":")
        if kind != "local" or not name:
            raise InputError("--prompt-format is for local models: leave it out, or give --model local:FOLDER")
        return load_format(self.prompt_format)
