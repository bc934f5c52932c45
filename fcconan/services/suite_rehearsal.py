"""A rehearsal of a suite: each step is checked and its requests are counted, and nothing is sent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.generation import LEXICAL, ComparisonConfig, RatingConfig, Steps, replies_of, stand_ins, write_replies
from fcconan.services.suite_steps import COMPARISONS, RATINGS, Entry, SuiteSteps, step_of

Row = Mapping[str, Any]
WITHOUT_MODEL = ("retrieval", "reference")  # strategies
_LONGEST = 512  # tokens of a reply that is not limited


def rehearsed(suite: SuiteSteps, steps: Steps, folder: Path, *, whole: bool) -> tuple[list[Row], bool]:
    """Does each step that asks a model, without asking.

    Args:
        suite: The steps of the suite.
        steps: The record; steps that are done are left out.
        folder: A folder for temporary files.
        whole: Whether all messages are taken, and not the first one only.

    Returns:
        What models would be asked, and whether all replies are written already.

    Raises:
        InputError: A step cannot be done.
    """
    items = suite.items if whole else suite.items[:1]
    asking = suite.connection
    counting = asking.joined(asking.options.model_copy(update={"dry_run": True}))
    found: list[Row] = []
    rows: list[Row] = []
    are_written = True
    for name, entry in suite.systems.items():
        if steps.is_kept(step_of(name), suite.key_of_system(name)):
            rows += replies_of(name, items, suite.files_of(name)[0])
            continue
        out = folder / f"{name}.parquet"
        with _at(suite, "systems", name):
            if _asks_model(entry):
                are_written = False
                found += _of_step(step_of(name), suite.generate(name, out, counting, len(items)))
                rows += stand_ins(name, items, _longest(entry))
            else:
                # A file of replies may answer other messages than the first one.
                suite.generate(name, out, asking, suite.suite.limit if "from" in entry else len(items))
                rows += replies_of(name, items, out)
    replies, out = folder / "replies.parquet", folder / "judged.parquet"
    write_replies(replies, [dict(row) for row in rows])
    judging: list[tuple[str, int, RatingConfig | ComparisonConfig, Callable[..., Any]]] = [
        *((RATINGS, place, config, suite.rate) for place, config in enumerate(suite.suite.ratings)),
        *((COMPARISONS, place, config, suite.compare) for place, config in enumerate(suite.suite.comparisons)),
    ]
    for kind, place, config, judge in judging:
        entry = suite.loaded.options(config)
        is_lexical = entry["model"] in (LEXICAL, [LEXICAL])
        with _at(suite, kind, place):
            if kind == RATINGS:
                _check_task(entry.get("task", config.task))
            result = judge(replies, out, entry, asking if is_lexical else counting)
            if not is_lexical:
                found += _of_step(f"{kind}/{place + 1}", result)
    return found, are_written


@contextmanager
def _at(suite: SuiteSteps, *location: str | int) -> Iterator[None]:
    """Adds to messages the line of the suite that they refer to."""
    try:
        yield
    except InputError as error:
        where, line = ".".join(map(str, location)), suite.loaded.line(*location)
        raise InputError(f"{suite.loaded.path}, line {line}: {where}: {error}") from error


def _asks_model(entry: Entry) -> bool:
    return "from" not in entry and entry.get("strategy") not in WITHOUT_MODEL


def _longest(entry: Entry) -> int:
    """Returns the largest number of tokens in a reply of a system."""
    from fcconan.generation import USUAL_DECODING, load_decoding

    preset = load_decoding(entry.get("decoding") or USUAL_DECODING)
    return entry.get("max_tokens") or preset.max_tokens or _LONGEST


def _of_step(step: str, result: Any) -> list[Row]:
    return [{"step": step, **row} for row in result.rows()]


def _check_task(name: str) -> None:
    from fcconan.judging import load_rubric

    if load_rubric(name).labels:
        raise InputError(f"the task {name} has labels, and suites compare systems by grades: choose one with aspects")
