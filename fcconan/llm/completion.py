"""Reads a chat completion, OpenAI's shape of an answer, which the journal keeps for every back end."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from fcconan.llm.call import Reply, TokenAlternatives


def fault(request: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with the shape of a chat completion, or None."""
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices"
    message = choices[0].get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
        return "no message"
    return None


def read_reply(body: Mapping[str, Any], *, structured: bool = False) -> Reply:
    """Reads a chat completion in which `fault` finds nothing wrong.

    Words that were cut, filtered or refused are no reply: they may look like one.
    """
    choice = body["choices"][0]
    usage = body.get("usage")
    tokens = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    counted = [each if type(each) is int else None for each in tokens]
    said: dict[str, Any] = {
        "model": None if body.get("model") is None else str(body["model"]),
        "prompt_tokens": counted[0],
        "completion_tokens": counted[1],
        "structured": structured,
    }
    if choice["message"].get("refusal"):
        return Reply(reason="refused", **said)
    if choice.get("finish_reason") == "length":
        return Reply(reason="truncated", cut=_whole_characters(choice["message"].get("content")) or None, **said)
    if choice.get("finish_reason") == "content_filter":
        return Reply(reason="filtered", **said)
    text = _whole_characters(choice["message"].get("content"))
    if not text.strip():
        return Reply(reason="empty", **said)
    return Reply(text, logprobs=_logprobs(choice.get("logprobs")), **said)


def _whole_characters(text: str | None) -> str:
    """Replaces the halves of characters that some endpoints send when a token ends in the middle of one."""
    return (text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _logprobs(found: Any) -> tuple[TokenAlternatives, ...] | None:
    entries = found.get("content") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not entries:
        return None
    tokens = []
    for entry in entries:
        try:
            alternatives: dict[str, float] = {}
            for each in (*(entry.get("top_logprobs") or ()), entry):  # two tokens may have one text: the likelier one
                token, logprob = str(each["token"]), float(each["logprob"])
                if isnan(logprob):
                    return None
                alternatives[token] = max(logprob, alternatives.get(token, logprob))
            tokens.append(TokenAlternatives(str(entry["token"]), alternatives))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
    return tuple(tokens)
