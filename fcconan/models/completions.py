"""Reads a chat completion, OpenAI's shape of an answer, in which answers of every back end are stored."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from fcconan.models.calls import Reply, TokenAlternatives


def fault(request: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with the shape of a chat completion, or None."""
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices"
    choice = choices[0]
    if choice.get("error") or choice.get("finish_reason") == "error":  # gateways whose own endpoint fails half-way
        return f"the choice is an error ({choice.get('error')})"
    message = choice.get("message")
    if not isinstance(message, dict):
        return "no message"
    content = message.get("content")
    if isinstance(content, list):
        return None if all(isinstance(each, dict) for each in content) else "no message"
    return None if isinstance(content, str | None) else "no message"


def read_reply(body: Mapping[str, Any], *, structured: bool = False) -> Reply:
    """Reads a chat completion in which `fault` finds nothing wrong.

    Words that were cut, filtered or refused are no reply: they may look like one.
    """
    choice = body["choices"][0]
    usage = body.get("usage")
    tokens = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    counted = [each if type(each) is int else None for each in tokens]
    said: dict[str, Any] = {
        "model": None if body.get("model") is None else whole_characters(str(body["model"])),
        "prompt_tokens": counted[0],
        "completion_tokens": counted[1],
        "structured": structured,
    }
    if choice["message"].get("refusal"):
        return Reply(reason="refused", **said)
    text = whole_characters(_text(choice["message"].get("content")))
    if choice.get("finish_reason") == "length":
        return Reply(reason="truncated", cut=text or None, **said)
    if choice.get("finish_reason") == "content_filter":
        return Reply(reason="filtered", **said)
    if not text.strip():
        return Reply(reason="empty", **said)
    return Reply(text, logprobs=_logprobs(choice.get("logprobs")), **said)


def whole_characters(text: str) -> str:
    """Replaces halves of characters, which endpoints send when a token ends in the middle of one.

    JSON can write them, and no file can hold them.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _text(content: Any) -> str:
    """The words of a message, which some endpoints give in parts; parts of other kinds, such as thinking, are none."""
    if not isinstance(content, list):
        return content or ""
    texts = [each.get("text") for each in content if each.get("type", "text") == "text"]
    return "".join(each for each in texts if isinstance(each, str))


def _logprobs(found: Any) -> tuple[TokenAlternatives, ...] | None:
    entries = found.get("content") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not entries:
        return None
    tokens = []
    for entry in entries:
        try:
            alternatives: dict[str, float] = {}
            for each in (*(entry.get("top_logprobs") or ()), entry):  # two tokens may have one text: the likelier one
                token, logprob = str(each["token"]), each["logprob"]
                # What is impossible is left out: minus infinity is no JSON, and the store could not hold it.
                if logprob is not None and isfinite(float(logprob)):
                    alternatives[token] = max(float(logprob), alternatives.get(token, float(logprob)))
            tokens.append(TokenAlternatives(str(entry["token"]), alternatives))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
    return tuple(tokens)
