"""Runs that a model refuses as a whole: they are stopped early, and one line gives the reason and the remedy."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.models import Call, Model, Reply

FIRST = 20  # requests; if the first ones of a run all fail in the same way, the others would too
_SHOWN = 300  # characters of a message of an endpoint
# The endpoint refuses the text and not the form of the request: other texts may pass.
_OF_TEXT = re.compile(r"content.{0,30}(?:filter|policy|management)|moderation|safety", re.IGNORECASE)
_ADVICE = {
    "no_hate_speech": "name the column of the messages with --rename hate_speech=COLUMN",
    "empty_reply": "name the column of the replies with --rename text=COLUMN",
    "no_reference": "name a column with --rename references=COLUMN, or choose what needs no reference",
    "no_background": "give --background FOLDER, or --rename background=COLUMN",
    "no_logprobs": "--logprobs needs an endpoint that gives log-probabilities, and answers that are a grade alone",
    "bad_request": "check the model's name and options such as --temperature, --max-tokens and --no-structured-output",
    "connection": "check --base-url and whether the server runs; the same command goes on",
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

    def replies(self, calls: "Iterable[Call]") -> "Iterator[Reply]":
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

    def _note(self, reply: "Reply") -> None:
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
            what = "were refused alike" if reply.reason == "bad_request" else "reached no endpoint"
            raise InputError(
                f"the first {FIRST} requests to {self.name} {what} ({_short(reply.detail)}), so no more are sent: "
                f"{_ADVICE[reply.reason]}"
            )


def why_nothing(event: str, missing: Mapping[str, int], watched: Iterable[Any], *, expected: str) -> str:
    """Returns one line with the reason why a run has no result, and the remedy.

    Args:
        event: The missing result, such as `stub:rubric rated nothing`.
        missing: Reason -> number of requests.
        watched: The models; those that are no `WatchedModel` are ignored.
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
        advice = advice or f"expected {expected}; `fcconan judge show` prints whole answers"
    quoted = f", the first time for: {_short(heard)}" if heard else ""
    return f"{event}: {number} of {sum(missing.values())} are {reason}{quoted}; {advice}"


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]
