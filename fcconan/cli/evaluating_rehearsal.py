"""Every step of a suite without asking anybody: what does not go together is found, and what would be asked counted."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from fcconan.cli.evaluating_verbs import COMPARISONS, RATINGS, Options, Verbs, step_of
from fcconan.errors import InputError
from fcconan.generation import LEXICAL, ComparisonConfig, RatingConfig, Steps, replies_of, stand_ins, write_replies

Row = dict[str, Any]
WITHOUT_MODEL = ("retrieval", "reference")  # strategies
_LONGEST = 512  # tokens of a reply that is not limited


def rehearsed(verbs: Verbs, steps: Steps, folder: Path, *, whole: bool) -> tuple[list[Row], bool]:
    """Runs every step that asks a model, without asking.

    Args:
        verbs: The suite's.
        steps: Those that are done are not rehearsed.
        folder: For what is written meanwhile.
        whole: Take all messages, and not the first one only.

    Returns:
        What would be asked, and whether all replies are there already.

    Raises:
        InputError: A step cannot be done.
    """
    items = verbs.items if whole else verbs.items[:1]
    connection = replace(verbs.connection, dry_run=True)
    found: list[Row] = []
    rows: list[Row] = []
    all_there = True
    asked = folder / "asked.json"
    for name, options in verbs.systems.items():
        if steps.is_kept(step_of(name), verbs.key_of_system(name)):
            rows += replies_of(name, items, verbs.files_of(name)[0])
            continue
        out = folder / f"{name}.parquet"
        with _at(verbs, "systems", name), redirect_stdout(io.StringIO()):
            if _asks_model(options):
                all_there = False
                verbs.generate(name, out, asked, connection, len(items))
                found += _asked(step_of(name), asked)
                rows += stand_ins(name, items, _longest(options))
            else:
                # A file of replies may answer other messages than the first one.
                limit = verbs.suite.limit if "from" in options else len(items)
                verbs.generate(name, out, None, verbs.connection, limit)
                rows += replies_of(name, items, out)
    replies, out = folder / "replies.parquet", folder / "judged.parquet"
    write_replies(replies, rows)
    judging: list[tuple[str, int, RatingConfig | ComparisonConfig, Callable[..., None]]] = [
        *((RATINGS, place, config, verbs.rate) for place, config in enumerate(verbs.suite.ratings)),
        *((COMPARISONS, place, config, verbs.compare) for place, config in enumerate(verbs.suite.comparisons)),
    ]
    for kind, place, config, verb in judging:
        options = verbs.loaded.options(config)
        lexical = options["model"] in (LEXICAL, [LEXICAL])
        with _at(verbs, kind, place), redirect_stdout(io.StringIO()):
            if kind == RATINGS:
                _check_task(options.get("task", config.task))
            verb(replies, out, options, asked, verbs.connection if lexical else connection)
            if not lexical:
                found += _asked(f"{kind}/{place + 1}", asked)
    return found, all_there


@contextmanager
def _at(verbs: Verbs, *location: str | int) -> Iterator[None]:
    """Says on which line of the suite a complaint has its cause."""
    try:
        yield
    except InputError as error:
        where, line = ".".join(map(str, location)), verbs.loaded.line(*location)
        raise InputError(f"{verbs.loaded.path}, line {line}: {where}: {error}") from error


def _asks_model(options: Options) -> bool:
    return "from" not in options and options.get("strategy") not in WITHOUT_MODEL


def _longest(options: Options) -> int:
    """Returns how many tokens a reply of a system may have."""
    from fcconan.generation import USUAL_DECODING, load_decoding

    preset = load_decoding(options.get("decoding") or USUAL_DECODING)
    return options.get("max_tokens") or preset.max_tokens or _LONGEST


def _asked(step: str, file: Path) -> list[Row]:
    return [{"step": step, **row} for row in json.loads(file.read_text(encoding="utf-8"))["dry_run"]]


def _check_task(name: str) -> None:
    from fcconan.judging import load_rubric

    if load_rubric(name).labels:
        raise InputError(f"the task {name} has labels, and suites compare systems by grades: choose one with aspects")
