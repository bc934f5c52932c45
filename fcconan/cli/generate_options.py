"""Options of `fcconan generate`: what they mean together, and which of them do not go together."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.generation import Decoding
    from fcconan.judging import Plan as JudgePlan
    from fcconan.models import Format

FEW_SHOT, GROUNDED, CONDITIONED = "few-shot", "grounded", "retrieval-conditioned"
RETRIEVAL, REFERENCE = "retrieval", "reference"
RETRIEVER, ENCODER, JUDGE_TASK = "tfidf", "minilm", "multi-aspect"
SHOWN = 3  # examples, and CNs to choose from


@dataclass(frozen=True)
class Asked:
    """The options that say how replies are made, by their names; None where one is not given."""

    model: str | None = None
    strategy: str | None = None
    task: str | None = None
    format: str | None = None
    decoding: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    stop: list[str] | None = None
    candidates: int | None = None
    pick: str | None = None
    judge: str | None = None
    judge_task: str | None = None
    judge_aspect: list[str] | None = None
    examples: int | None = None
    encoder: str | None = None
    retriever: str | None = None
    top: int | None = None
    own: bool | None = None
    pool: str | None = None
    background: Path | None = None
    passages: int | None = None

    def refuse(self, why: str, *, but: Iterable[str] = (), only: Iterable[str] | None = None) -> None:
        """Checks that no option is given, or none of `only`, besides those of `but`.

        Raises:
            InputError: One is.
        """
        for name, value in vars(self).items():
            if value is not None and name not in but and (only is None or name in only):
                raise InputError(f"--{name.replace('_', '-')} {why}: leave it out")


def strategy_of(asked: Asked) -> str:
    """Returns the strategy that options for a model name or mean.

    Raises:
        InputError: There is no such strategy, or options do not go with it.
    """
    from fcconan.generation import PROMPTS

    if asked.strategy is not None and asked.strategy not in PROMPTS:
        names = ", ".join((*PROMPTS, RETRIEVAL, REFERENCE))
        raise InputError(f"there is no strategy {asked.strategy!r}: choose one of {names}")
    meant = CONDITIONED if asked.retriever is not None or asked.top is not None else None
    meant = meant or (GROUNDED if asked.background is not None else None)
    strategy = asked.strategy or meant or (FEW_SHOT if asked.examples is not None else "zero-shot")
    if strategy != CONDITIONED:
        asked.refuse(f"goes with --strategy {CONDITIONED}, not {strategy}", only=("retriever", "top", "own"))
    if strategy == "zero-shot":
        asked.refuse("goes with --strategy few-shot, not zero-shot", only=("examples",))
    if strategy in ("zero-shot", FEW_SHOT):
        asked.refuse(f"goes with --strategy {GROUNDED}, not {strategy}", only=("background",))
    if strategy == GROUNDED and asked.background is None:
        raise InputError(f"--strategy {GROUNDED} needs passages about the messages: give --background FOLDER")
    has_examples = strategy == FEW_SHOT or asked.examples is not None
    if not has_examples:
        asked.refuse("finds examples, and none are shown", only=("encoder",))
    if not has_examples and strategy != CONDITIONED:
        asked.refuse(f"goes with --examples or --strategy {CONDITIONED}", only=("pool",))
    return strategy


def part_of(text: str) -> tuple[Path, str | None, str | None]:
    """Reads DATASET[:CONFIG[:SPLIT]]; what is a path as it stands is one."""
    from fcconan.services import built_folder

    pieces = text.split(":")
    # The longest beginning that is there is the path: drives and some folders have colons.
    for number in range(len(pieces), max(len(pieces) - 3, 0), -1):
        path = Path(":".join(pieces[:number]))
        if path.exists():
            break
    else:
        number = max(1, len(pieces) - 2)
    config, split = (*pieces[number:], None, None)[:2]
    return built_folder(":".join(pieces[:number])), config or None, split or None


def decoding_of(asked: Asked) -> "Decoding":
    """Returns the named settings, with what options change in them.

    Raises:
        InputError: There are none of this name, or they do not go together.
    """
    from fcconan.generation import USUAL_DECODING, load_decoding

    settings = load_decoding(asked.decoding or USUAL_DECODING)
    names = ("temperature", "top_p", "top_k", "max_tokens", "stop", "candidates", "pick")
    given = {name: value for name in names if (value := getattr(asked, name)) is not None}
    if "stop" in given:
        given["stop"] = tuple(each.replace("\\n", "\n") for each in given["stop"])
    return settings.with_(**given) if given else settings


def format_of(asked: Asked) -> "Format | None":
    """Returns what takes the place of the chat template of a model's tokenizer; None where nothing does.

    Raises:
        InputError: There is no such format, or the model is none of this machine.
    """
    if asked.format is None:
        return None
    from fcconan.models import load_format

    kind, _, name = (asked.model or "").partition(":")
    if kind != "local" or not name:
        raise InputError("--format is for models on this machine: leave it out, or give --model local:FOLDER")
    return load_format(asked.format)


def judge_plan_of(asked: Asked, pick: str | None) -> "JudgePlan | None":
    """Returns what the judge of candidates is asked; None where there is none.

    Args:
        asked: The options.
        pick: How one of several candidates is chosen.

    Raises:
        InputError: Options do not go together.
    """
    from fcconan.generation import check_judged
    from fcconan.judging import Plan, load_rubric

    if pick != "judge":
        why = "goes with several candidates and --pick judge, or --decoding best-of-5"
        asked.refuse(why, only=("judge", "judge_task", "judge_aspect"))
        return None
    if asked.judge is None:
        raise InputError("the best candidate is chosen by a judge, and there is none: name a model with --judge")
    task = load_rubric(asked.judge_task or JUDGE_TASK)
    if asked.judge_aspect and not task.labels:
        task = task.model_copy(update={"aspects": [task.aspect(name) for name in asked.judge_aspect]})
    plan = Plan(task)
    check_judged(plan)
    plan.questions()
    return plan
