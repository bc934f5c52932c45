"""Asks a chat model for JSON objects and reads its answers strictly: what is not the object asked for is a failure."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fcconan.llm.client import Answer, Client
from fcconan.llm.client import Reason as RequestReason
from fcconan.retrieve.prompts import Messages, Prompt

Reason = Literal[RequestReason, "refused", "truncated", "filtered", "empty", "wrong_format", "no_known_id"]
STATUSES = ("ok", "wrong_format", "repeated", "missing", "unknown", "no_answer")

_PATH = "/chat/completions"
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """What a model said.

    Attributes:
        text: Its words; None where there are none.
        reason: Why there are none.
    """

    text: str | None
    reason: Reason | None = None


@dataclass(frozen=True)
class Choice:
    """The ids that a model named, as positions in the list that it was shown.

    Attributes:
        positions: Every known id once, in the model's order.
        statuses: What is to be said of the call: `ok`, or what was wrong with it.
        reason: Why nothing can be used; then `positions` is empty.
    """

    positions: list[int]
    statuses: tuple[str, ...]
    reason: Reason | None = None


class Chat:
    """One chat model with its sampling.

    If the endpoint refuses `response_format`, requests are sent once more without it, and all later ones too. What was
    answered without it in an earlier run is not asked again.

    Args:
        client: Sends the requests and keeps the answers.
        model: The endpoint's name of the model.
        temperature: None leaves it out, for models that take none.
        seed: None leaves it out.
    """

    def __init__(self, client: Client, *, model: str, temperature: float | None, seed: int | None) -> None:
        self.client, self.model = client, model
        self._sampling = {
            name: value for name, value in (("temperature", temperature), ("seed", seed)) if value is not None
        }
        self._takes_schema: bool | None = None
        self.configuration: dict[str, Any] = {
            "endpoint": client.endpoint,
            "model": model,
            "temperature": temperature,
            "seed": seed,
        }

    def ask_all(self, prompt: Prompt, requests: Sequence[Messages], tally: "Tally") -> list[Reply]:
        """Asks all requests of one prompt and returns a reply for each, in their order.

        Raises:
            EndpointError: The endpoint refuses everything.
        """
        plain = [{"model": self.model, **self._sampling, "messages": messages} for messages in requests]
        known = [self.client.known(_PATH, body, check=_fault) for body in plain]
        unknown = [body for body, answer in zip(plain, known, strict=True) if answer is None]
        tally.plain_text += len(plain) - len(unknown)
        found: list[Answer] = []
        if self._takes_schema is None and unknown:
            # The first one tells whether the endpoint takes a schema, so that not all are refused.
            found, unknown = self._with_schema(prompt, unknown[:1], tally), unknown[1:]
        if self._takes_schema is False:
            found += self.client.send_all(_PATH, unknown, check=_fault)
            tally.plain_text += len(unknown)
        else:
            found += self._with_schema(prompt, unknown, tally)
        rest = iter(found)
        answers = [answer if answer is not None else next(rest) for answer in known]
        for answer in answers:
            tally.count_usage(answer)
        return [_reply(answer) for answer in answers]

    def _with_schema(self, prompt: Prompt, plain: Sequence[dict[str, Any]], tally: "Tally") -> list[Answer]:
        schema = {"name": prompt.name, "strict": True, "schema": dict(prompt.schema)}
        wanted = {"response_format": {"type": "json_schema", "json_schema": schema}}
        answers = self.client.send_all(_PATH, [{**body, **wanted} for body in plain], check=_fault)
        refused = [position for position, answer in enumerate(answers) if answer.reason == "bad_request"]
        if any(answer.body is not None for answer in answers):
            self._takes_schema = True
        if refused:
            again = self.client.send_all(_PATH, [plain[position] for position in refused], check=_fault)
            tally.plain_text += len(refused)
            for position, answer in zip(refused, again, strict=True):
                answers[position] = answer
            if self._takes_schema is None and any(answer.body is not None for answer in again):
                self._takes_schema = False
        return answers


class Tally:
    """Counts what a reader needs to trust a run: the state of every call, failures, tokens."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter(dict.fromkeys(STATUSES, 0))
        self.failed_calls: Counter[str] = Counter()
        self.plain_text = 0
        self.models: set[str] = set()
        self.tokens: Counter[str] = Counter({"prompt_tokens": 0, "completion_tokens": 0})

    def count(self, statuses: Sequence[str], reason: str | None = None) -> None:
        """Counts one call."""
        self.calls.update(statuses)
        if reason is not None:
            self.failed_calls[reason] += 1

    def count_usage(self, answer: Answer) -> None:
        """Counts the tokens of one answer, and which model says that it gave it."""
        if answer.body is None:
            return
        self.models.add(str(answer.body.get("model")))
        usage = answer.body.get("usage")
        for name in self.tokens:
            number = usage.get(name) if isinstance(usage, dict) else None
            self.tokens[name] += number if type(number) is int else 0

    def diagnostics(self) -> dict[str, Any]:
        """Returns the counts as JSON-able values."""
        return {
            "calls": dict(self.calls),
            "failed_calls": dict(sorted(self.failed_calls.items())),
            "plain_text": self.plain_text,
            "tokens": dict(self.tokens),
        }


def read_choice(reply: Reply, *, ids: Sequence[str], wanted: int) -> Choice:
    """Reads `{"ranking": [...]}`: ids that were shown, each once, as many as wanted; further ones are left out.

    A call is `ok`, or everything that is wrong with it: `repeated` ids, `unknown` ids, `missing` (fewer known ids than
    wanted). Nothing can be used of one with `no_answer`, in the `wrong_format`, or without a known id.
    """
    value, status, reason = read_field(reply, "ranking")
    if reason is None and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        status, reason = "wrong_format", "wrong_format"
    if reason is not None:
        return Choice([], (status,), reason)
    place = {key: position for position, key in enumerate(ids)}
    known = [place[key] for key in value if key in place]
    distinct = list(dict.fromkeys(known))[:wanted]
    found = {
        "repeated": len(set(value)) < len(value),
        "missing": len(distinct) < wanted,
        "unknown": len(known) < len(value),
    }
    statuses = tuple(name for name, is_so in found.items() if is_so) or ("ok",)
    return Choice(distinct, statuses, None if distinct else "no_known_id")


def read_field(reply: Reply, field: str) -> tuple[Any, str, Reason | None]:
    """Reads one field of the object that a reply is.

    Returns:
        The value, the status of the call and why there is no value.
    """
    if reply.text is None:
        return None, "no_answer", reply.reason
    found = read_object(reply.text)
    if found is None or field not in found:
        return None, "wrong_format", "wrong_format"
    return found[field], "ok", None


def read_object(text: str) -> dict[str, Any] | None:
    """Reads a text that is one JSON object, or one in a code fence, and nothing else.

    Returns:
        The object, or None: also where a key is repeated or a number is not finite.
    """
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        found = json.loads(fenced[1] if fenced else text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a repeated key")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _fault(request: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices"
    message = choices[0].get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
        return "no message"
    return None


def _reply(answer: Answer) -> Reply:
    if answer.body is None:
        return Reply(None, answer.reason)
    choice = answer.body["choices"][0]
    if choice["message"].get("refusal"):
        return Reply(None, "refused")
    if choice.get("finish_reason") == "length":
        return Reply(None, "truncated")
    if choice.get("finish_reason") == "content_filter":
        return Reply(None, "filtered")
    text = choice["message"].get("content")
    return Reply(text) if text and text.strip() else Reply(None, "empty")
