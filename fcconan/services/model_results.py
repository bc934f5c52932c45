"""Results of services that call models, dry runs included; runs that a model refuses as a whole stop early."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import fcconan
from fcconan.errors import InputError
from fcconan.services.connections import Notices
from fcconan.services.results import DRY_RUN, Result

if TYPE_CHECKING:
    from fcconan.data import Columns
    from fcconan.models import ChatRequest, ChatResponse, DryRun, Model

    Row = dict[str, Any]

FIRST = 20  # requests; if the first ones of a run all fail in the same way, the others would too
_SHOWN = 300  # characters of a message of an endpoint
# The endpoint refuses the text and not the form of the request: other texts may pass.
_OF_TEXT = re.compile(r"content.{0,30}(?:filter|policy|management)|moderation|safety", re.IGNORECASE)
_ADVICE = {
    "no_hate_speech": "name the column of the messages with --rename hate_speech=COLUMN",
    "empty_reply": "name the column of the replies with --rename text=COLUMN",
    "no_reference": "name a column with --rename references=COLUMN, or choose a method without references",
    "no_background": "give --background FOLDER, or --rename background=COLUMN",
    "no_logprobs": "--logprobs needs an endpoint that gives log-probabilities, and answers that are a grade alone",
    "bad_request": "check the model's name and options such as --temperature, --max-tokens and --no-structured-output",
    "connection": "check --base-url and whether the server runs; the same command then continues",
    "too_long": "the texts do not fit the model: choose one with a longer context",
    "truncated": "raise --max-tokens; models that think before they answer need thousands",
    "empty": "raise --max-tokens, if the model thinks before it answers",
    "filtered": "the endpoint filters such texts: choose another one",
    "refused": "the model refuses such texts: choose another one",
    "not_recorded": "the recorded file has no output for these texts: check its columns",
}
_FAILURES = frozenset({"rate_limited", "server_error", "timeout", "connection", "bad_body"})


class WatchedModel:
    """A model whose first refusals are counted; the first message for each reason is stored.

    Args:
        model: The model.

    Attributes:
        name: That of the model.
        configuration: That of the model.
        messages: Reason -> the first message of the model; under None, its first answer.
    """

    def __init__(self, model: "Model") -> None:
        self.model, self.name, self.configuration = model, model.name, model.configuration
        self.messages: dict[str | None, str] = {}
        self._refusals = 0
        self._kinds: set[str] | None = set()

    def replies(self, calls: "Iterable[ChatRequest]") -> "Iterator[ChatResponse]":
        """Yields the model's replies.

        Raises:
            InputError: The first ones were refused, all for the same reason.
        """
        replies = self.model.replies(calls)
        try:
            for reply in replies:
                self._note(reply)
                yield reply
        finally:
            close = getattr(replies, "close", None)
            if close is not None:
                close()

    def _note(self, reply: "ChatResponse") -> None:
        words = reply.detail or reply.cut or reply.text or ""
        if words.strip():
            self.messages.setdefault(reply.reason, words)
        if self._kinds is None:
            return
        if reply.reason not in ("bad_request", "connection") or _OF_TEXT.search(reply.detail):
            self._kinds = None
            return
        self._refusals += 1
        # Ids and numbers differ between requests.
        self._kinds.add(reply.reason + re.sub(r"[0-9a-f-]{8,}|\d+", "#", reply.detail))
        if len(self._kinds) > 1:
            self._kinds = None
        elif self._refusals == FIRST:
            what = "were refused for the same reason" if reply.reason == "bad_request" else "reached no endpoint"
            raise InputError(
                f"the first {FIRST} requests to {self.name} {what} ({_short(reply.detail)}), so no more are sent: "
                f"{_ADVICE[reply.reason]}"
            )


def why_nothing(event: str, missing: Mapping[str, int], watched: Iterable[Any], *, expected: str) -> str:
    """Returns one line with the reason why a run has no result, and the remedy.

    Args:
        event: The missing result, such as `stub:rubric rated nothing`.
        missing: Reason -> number of requests.
        watched: The models; only each `WatchedModel` is used.
        expected: The form of an answer that the prompt requests.
    """
    ((reason, number),) = Counter(missing).most_common(1)
    messages = [each.messages for each in watched if isinstance(each, WatchedModel)]
    heard = next((each[reason] for each in messages if reason in each), None)
    advice = _ADVICE.get(reason)
    if reason in _FAILURES:
        advice = "run the command again, and check the endpoint"
    elif advice is None or reason == "truncated":
        heard = heard or next((each[None] for each in messages if None in each), None)
        advice = advice or f"expected {expected}"
    quoted = f", the first time for: {_short(heard)}" if heard else ""
    return f"{event}: {number} of {sum(missing.values())} are {reason}{quoted}; {advice}"


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]


Value = TypeVar("Value")
Progress = Callable[[int, int | None], None]  # receives the numbers of finished units and of all, None if unknown
NO_NOTICES = Notices()


@dataclass(frozen=True, repr=False)
class ModelResult(Result):
    """Result of a service that asks models. After a dry run, its only key is `dry_run`, with a row for each model.

    Attributes:
        notices: Sentences about stored answers, and about models that changed under one name.
        notes: Sentences about the input.
        problems: Why there is no value at all, a sentence for each judge of which that is true.
        failed: Whether another run may find more, as requests failed, or whether there is no value at all.
        at_most: Whether the counts of a dry run are upper bounds.
    """

    notices: Notices = NO_NOTICES
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    failed: bool = False
    at_most: bool = False
    kind: ClassVar[str] = "result"

    @property
    def signature(self) -> str:
        """The package version and the hash of the result without its place."""
        import json

        from fcconan.data import short_hash

        content = {name: value for name, value in self.data.items() if name not in ("out", "used")}
        return f"fcconan:{fcconan.__version__}|{self.kind}:{short_hash(json.dumps(content, sort_keys=True))}"


@dataclass(frozen=True, repr=False)
class RowsResult(ModelResult):
    """Result of a service that makes rows.

    Attributes:
        path: The file of the rows; None if they are in memory.
        memory: The rows, where they are in memory.
    """

    path: Path | None = None
    memory: "Sequence[Row]" = ()

    def source_rows(self) -> Any:
        """Returns the file of the rows, or the rows in memory."""
        return self.path or self.memory

    def made(self, columns: "Columns") -> "Sequence[Row]":
        """Returns the rows, with typed cells.

        Args:
            columns: Names and types of the columns.
        """
        from fcconan.data import read_typed_rows

        return self.memory if self.path is None else list(read_typed_rows(self.path, columns))


def row_target(out: Path | str | None) -> Path | None:
    """Returns the file of rows that a service writes, if any, after the check that it can be written.

    Raises:
        InputError: It cannot.
    """
    from fcconan.data import check_row_target

    if out is None:
        return None
    check_row_target(path := Path(out))
    return path


def check_yaml_target(out: Path, kind: str) -> None:
    """Checks before long work that a YAML file can be written.

    Args:
        out: The file.
        kind: Name of the kind of file, for messages.

    Raises:
        InputError: The file cannot be written.
    """
    from fcconan.data import is_writable

    if out.suffix not in (".yaml", ".yml") or out.is_dir():
        raise InputError(f"{out} cannot be a {kind}: expected a name that ends in .yaml")
    if not is_writable(out):
        raise InputError(f"{out} cannot be written: choose another --out, in a folder that is there")


def written(
    batches: "Iterable[Sequence[Row]]",
    columns: "Columns",
    out: Path | None,
    count: "Callable[[Sequence[Row]], object]" = lambda rows: None,
) -> "list[Row]":
    """Writes rows as they come; without a file, they are returned.

    Args:
        batches: The rows.
        columns: Names and types of their columns.
        out: The file, or None.
        count: Receives each batch.

    Raises:
        InputError: The file cannot be written.
    """
    from fcconan.data import RowWriter

    memory: list[Row] = []
    with nullcontext() if out is None else RowWriter(out, columns) as writer:
        for rows in batches:
            count(rows)
            if writer is None:
                memory += rows
            else:
                writer.write(rows)
    return memory


def dry_run_of(rehearsals: "Iterable[DryRun]", prices: Path | None) -> dict[str, Any]:
    """Returns the JSON object of a dry run: the requests to each model, with a token estimated as four bytes.

    Raises:
        InputError: A model has no price.
    """
    return {DRY_RUN: [each.summary(prices) for each in rehearsals]}


def reporting(values: Iterable[Value], total: int | None, progress: Progress | None) -> Iterator[Value]:
    """Yields values and reports their number after each.

    Args:
        values: The values.
        total: Their number, where it is known.
        progress: Receives the counts; None reports nothing.
    """
    if progress is not None:
        progress(0, total)
    for done, value in enumerate(values, 1):
        yield value
        if progress is not None:
            progress(done, total)
