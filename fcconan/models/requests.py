"""Requests to models and their answers: the same types for endpoints, local models and recorded answers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, NamedTuple, Protocol

Messages = list[dict[str, str]]
FailureReason = Literal[
    "bad_request",  # the endpoint or the model rejects this request
    "rate_limited",
    "server_error",
    "timeout",
    "connection",
    "bad_body",
    "refused",  # by the endpoint, in a separate field; refusals of a model are text
    "truncated",
    "filtered",
    "empty",
    "too_long",  # for the model's context
    "not_recorded",  # a file of recorded outputs has no answer
]
# Failures that another run may resolve.
PASSING_REASONS = frozenset({"rate_limited", "server_error", "timeout", "connection", "bad_body"})


@dataclass(frozen=True)
class Sampling:
    """Sampling settings. None leaves a setting to the model.

    Attributes:
        temperature: Temperature; 0 selects the most likely token.
        max_tokens: Maximum length of an answer.
        top_p: Probability mass of nucleus sampling.
        stop: Strings before which an answer ends.
        seed: Seed of sampling.
        top_logprobs: Number of alternatives to return for each token; 0 for none.
        top_k: Number of most likely tokens to sample from, applied before `top_p`.
    """

    temperature: float | None = 0.0
    max_tokens: int | None = 512
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = 0
    top_logprobs: int = 0
    top_k: int | None = None


@dataclass(frozen=True)
class ChatRequest:
    """A request to a chat model.

    Attributes:
        messages: Role and content of each message.
        sampling: Sampling settings.
        schema: JSON Schema of the answer, with its name under `title`; for endpoints that can enforce it.
        sample: Number of the repetition; repetitions are different requests.
        variables: Values of the prompt variables, by which recorded answers are found; they are not sent.
    """

    messages: Messages
    sampling: Sampling = Sampling()
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)


class TokenAlternatives(NamedTuple):
    """A token of an answer, and alternative -> natural logarithm of its probability, the token among them."""

    token: str
    logprobs: Mapping[str, float]


class ChatResponse(NamedTuple):
    """The answer to a request.

    Attributes:
        text: Text of the answer; None if it is missing.
        reason: Reason of a missing answer.
        detail: Message of the endpoint, for people; it is never parsed.
        model: Name of the model, as reported.
        prompt_tokens: Number of prompt tokens, as reported.
        completion_tokens: Number of generated tokens, as reported.
        logprobs: Alternatives of each token; None if the model returns none.
        cut: Text of an answer that was cut at the token limit.
    """

    text: str | None = None
    reason: FailureReason | None = None
    detail: str = ""
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprobs: tuple[TokenAlternatives, ...] | None = None
    cut: str | None = None


class Model(Protocol):
    """A chat model.

    Attributes:
        name: Name of the model, also as a rater.
        identity: All settings that change the answers, in addition to the requests.
    """

    name: str
    identity: dict[str, Any]

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one answer for each request, in order."""
        ...


def read_reply(body: Mapping[str, Any], stop: tuple[str, ...] = ()) -> ChatResponse:
    """Reads a chat completion.

    Cut, filtered and refused answers count as missing, although their text may look like an answer.

    Args:
        body: JSON object of the response.
        stop: Strings before which the answer ends; some endpoints include them.

    Raises:
        ValueError: The object has another form.
    """
    try:
        choice = body["choices"][0]
        content = choice["message"].get("content")
        if isinstance(content, list):  # parts; reasoning does not belong to the answer
            content = "".join(each["text"] for each in content if each.get("type", "text") == "text")
        text = well_formed(content or "")
        if choice.get("error") or choice.get("finish_reason") == "error":  # gateways report errors of a backend here
            raise ValueError(f"the choice is an error ({choice.get('error')})")
        usage, model = body.get("usage") or {}, body.get("model")
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        logprobs = _logprobs(choice.get("logprobs") or {})
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"the body has not the form of a chat completion ({error!r})") from error
    said: dict[str, Any] = {"model": model and str(model), "prompt_tokens": counts[0], "completion_tokens": counts[1]}
    if choice["message"].get("refusal"):
        return ChatResponse(reason="refused", **said)
    end = stop_in(text, stop)
    text = text[:end]
    if choice.get("finish_reason") == "length" and end is None:
        return ChatResponse(reason="truncated", cut=text or None, **said)
    if choice.get("finish_reason") == "content_filter":
        return ChatResponse(reason="filtered", **said)
    return ChatResponse(text, logprobs=logprobs, **said) if text.strip() else ChatResponse(reason="empty", **said)


def stop_in(text: str, stop: Iterable[str]) -> int | None:
    """Returns the position of the first stop string in a reply, or None.

    Leading white space is skipped, because many models begin an answer with a line break.
    """
    first = len(text) - len(text.lstrip())
    return min((place for each in stop if (place := text.find(each, first)) >= 0), default=None)


def well_formed(text: str) -> str:
    """Replaces lone surrogates, which JSON can escape and files in UTF-8 cannot hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _logprobs(found: Mapping[str, Any]) -> tuple[TokenAlternatives, ...] | None:
    tokens = []
    for entry in found.get("content") or ():
        alternatives: dict[str, float] = {}
        for each in (*(entry.get("top_logprobs") or ()), entry):  # of tokens with equal text, the more likely one
            token, logprob = str(each["token"]), each["logprob"]
            # Impossible alternatives are left out, as JSON has no minus infinity.
            if logprob is not None and isfinite(float(logprob)):
                alternatives[token] = max(float(logprob), alternatives.get(token, float(logprob)))
        tokens.append(TokenAlternatives(str(entry["token"]), alternatives))
    return tuple(tokens) or None
