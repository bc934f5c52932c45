"""llama-cpp-python's server 0.3.36 as a behaviour of the loopback server: its refusals, log-probabilities and limits.

Its answers were recorded with a real model, see `make check-models`. It takes any key and any name of a model, ignores
fields that it does not know, and answers one request at a time.
"""

import re
import threading
from collections.abc import Callable

from tests.models.server import Action, Behaviour, Body

ROLES = ("system", "user", "assistant")
TRACE = '\n\n  File "site-packages/llama_cpp/server/app.py", line 376, in create_chat_completion\n    POST /v1/chat/'


def llama_cpp(
    says: str | Callable[[Body], str], *, context: int = 4096, alternatives: tuple[str, ...] = ("3", "4", "2", "5", "1")
) -> Behaviour:
    """Returns the behaviour of a server whose model says these words.

    Args:
        says: The answer, or a function of the request.
        context: Longest prompt, in words.
        alternatives: Further tokens at each place of the answer, the likeliest first.
    """
    one_at_a_time = threading.Lock()

    def behaviour(body: Body, number: int) -> Action:
        with one_at_a_time:
            return _answer(body, says if isinstance(says, str) else says(body), context, alternatives)

    return behaviour


def _answer(body: Body, text: str, context: int, alternatives: tuple[str, ...]) -> Action:
    form = (body.get("response_format") or {}).get("type", "text")
    if form not in ("text", "json_object"):
        allowed = "'text' or 'json_object'"
        return _invalid(("response_format", "type"), "literal_error", form, allowed)
    if not isinstance(body.get("logprobs", False), bool):
        return _invalid(("logprobs",), "bool_parsing", body["logprobs"])
    for place, message in enumerate(body["messages"]):
        if message["role"] not in ROLES:
            return _invalid(("messages", place, "role"), "literal_error", message["role"], " or ".join(ROLES))
    if not body["messages"]:
        return _error(500, "list object has no element 0")
    prompt = sum(len(message["content"].split()) for message in body["messages"])
    limit = body.get("max_tokens") or context
    if prompt > context:
        said = (
            f"This model's maximum context length is {context} tokens. However, you requested {prompt + limit} tokens "
        )
        said += f"({prompt} in the messages, {limit} in the completion). Please reduce the length of the messages or "
        return _error(400, f"{said}completion.", "invalid_request_error", "messages", "context_length_exceeded")
    tokens = re.findall(r"\s*\w+|\s*\W", text)
    kept = tokens[: min(limit, context - prompt)]
    wanted = body.get("top_logprobs") or 0
    shown = []
    for token in kept:
        tokens_here = [token, *(each for each in alternatives if each != token)][:wanted]
        likely = [{"token": each, "logprob": -0.5 - rank, "bytes": None} for rank, each in enumerate(tokens_here)]
        shown.append({"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": likely})
    choice = {
        "index": 0,
        "message": {"content": "".join(kept), "role": "assistant"},
        # The field `logprobs` alone does nothing.
        "logprobs": {"content": shown, "refusal": None} if body.get("logprobs") and wanted else None,
        "finish_reason": "stop" if kept == tokens else "length",
    }
    usage = {"prompt_tokens": prompt, "completion_tokens": len(kept), "total_tokens": prompt + len(kept)}
    whole = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": body.get("model", "qwen.gguf")}
    return Action(body={**whole, "choices": [choice], "usage": usage})


def _invalid(where: tuple[str | int, ...], kind: str, found: object, expected: str = "") -> Action:
    """The answer to a request of another form: status 500 and the text of pydantic's error."""
    said = f"Input should be {expected or 'a valid boolean, unable to interpret input'}"
    details = {"type": kind, "loc": ("body", *where), "msg": said, "input": found}
    if expected:
        details["ctx"] = {"expected": expected}
    return _error(500, f"1 validation error:\n  {details}{TRACE}completions")


def _error(
    status: int, message: str, kind: str = "internal_server_error", where: str | None = None, code: str | None = None
) -> Action:
    return Action(status, {"error": {"message": message, "type": kind, "param": where, "code": code}})
