"""A chat model behind an OpenAI-compatible endpoint."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from fcconan.models.client import Client
from fcconan.models.jobs import Job, KnownResult, Sender
from fcconan.models.local import stop_in
from fcconan.models.requests import ChatRequest, ChatResponse, Request, Sampling
from fcconan.models.responses import fault, read_reply

_PATH = "/chat/completions"


class EndpointModel:
    """A chat model of an endpoint.

    If the endpoint refuses `response_format`, this request and all later ones are sent without it. If the endpoint
    requires `max_completion_tokens` instead of `max_tokens`, as for reasoning models of OpenAI, the field is replaced
    likewise. Stored answers to any of these forms are used.

    Args:
        client: Client that sends the requests and stores the answers.
        model: Name of the model at the endpoint.
        structured: Whether to request structured output.
        further: Additional fields of each request, such as `reasoning_effort`; a field with the value None is left out,
            such as a `temperature` that the model refuses.

    Attributes:
        name: Name of the model at the endpoint.
        configuration: Endpoint, model, use of structured output, and additional fields.
    """

    def __init__(
        self,
        client: Client,
        model: str,
        *,
        structured: bool = True,
        further: Mapping[str, Any] | None = None,
    ) -> None:
        self.client, self.name = client, model
        asked = {"endpoint": client.endpoint, "model": model, "structured": structured}
        self.configuration: dict[str, Any] = {**asked, **(further or {})}
        self._further = dict(further or {})
        self._takes_schema: bool | None = None if structured else False
        self._newer_limit = False  # whether the endpoint requires `max_completion_tokens`
        self._probed: set[bool] = set()  # with a schema, without one
        self._kept = RequestForm(structured, False)  # form of the last stored answer, which is tried first

    @cached_property
    def _inherits(self) -> bool:
        """Whether the store has usable answers at the start. Answers of this run are looked up when sending."""
        return not self.client.answers.is_empty()

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one reply for each call, in order; requests run concurrently.

        Raises:
            EndpointError: The endpoint refuses all requests.
            InputError: There is no key, or the limit of cost is reached.
        """
        # Number of first requests that may be refused while the accepted form is unknown. A refusal is not charged.
        probes = asyncio.Semaphore(1 if self.client.gap else self.client.concurrency)
        yield from self.client.run(self._job(call, probes) for call in calls)

    def body(self, call: ChatRequest) -> dict[str, Any]:
        """Returns the longest possible request for a call: with its schema, if the endpoint may accept one."""
        return self._body(call, RequestForm(self._may_have_schema(call), self._newer_limit))

    def known(self, call: ChatRequest) -> ChatResponse | None:
        """Returns the stored reply, or None."""
        limits = (False, True) if call.sampling.max_tokens is not None else (False,)
        structures = (True, False) if self._may_have_schema(call) else (False,)
        forms = [RequestForm(structured, newer) for newer in limits for structured in structures]
        for form in sorted(forms, key=lambda form: form != self._kept):
            answer = self.client.known(self._request(call, form), fault)
            if answer is not None and answer.body is not None:
                self._kept = form
                self._newer_limit = self._newer_limit or form.newer_limit
                return _read(answer.body, call, form)
        return None

    def _may_have_schema(self, call: ChatRequest) -> bool:
        return call.schema is not None and self._takes_schema is not False

    def _body(self, call: ChatRequest, form: "RequestForm") -> dict[str, Any]:
        fields = _sampling(call.sampling)
        if form.newer_limit:
            fields["max_completion_tokens"] = fields.pop("max_tokens")
        fields = {name: each for name, each in {**fields, **self._further}.items() if each is not None}
        body = {"model": self.name, **fields, "messages": call.messages}
        return _with_schema(body, call.schema) if form.structured and call.schema is not None else body

    def _request(self, call: ChatRequest, form: "RequestForm") -> Request:
        return self.client.request(_PATH, self._body(call, form), sample=call.sample)

    def _job(self, call: ChatRequest, probes: asyncio.Semaphore) -> KnownResult[ChatResponse] | Job[ChatResponse]:
        known = self.known(call) if self._inherits else None
        return KnownResult(known) if known is not None else lambda sender: self._ask(sender, call, probes)

    async def _ask(self, sender: Sender, call: ChatRequest, probes: asyncio.Semaphore) -> ChatResponse:
        kind = self._may_have_schema(call)
        if kind not in self._probed:
            # The first requests find out which form the endpoint accepts. Later ones wait until one of them is
            # answered, so that they are not refused.
            async with probes:
                if kind not in self._probed:
                    reply = await self._send(sender, call)
                    self._probed.add(kind)
                    return reply
        return await self._send(sender, call)

    async def _send(self, sender: Sender, call: ChatRequest) -> ChatResponse:
        """Sends a call in the last accepted form, or else in other forms until one is accepted."""
        form = RequestForm(self._may_have_schema(call), self._newer_limit)
        answer = await sender.send(self._request(call, form), fault)
        while answer.reason == "bad_request":
            if not form.newer_limit and _wants_newer_limit(answer.detail):
                form = RequestForm(form.structured, True)
            elif form.structured:
                form = RequestForm(False, form.newer_limit)
            else:
                break
            answer = await sender.send(self._request(call, form), fault)
        if answer.body is None:
            return ChatResponse(reason=answer.reason, detail=answer.detail)
        # A form is required only if the endpoint refused another one before.
        self._newer_limit = self._newer_limit or form.newer_limit
        if call.schema is not None and (form.structured or self._takes_schema is None):
            self._takes_schema = form.structured
        return _read(answer.body, call, form)


class RequestForm(NamedTuple):
    """Form of a request: with or without a schema, and with `max_completion_tokens` or `max_tokens`."""

    structured: bool
    newer_limit: bool


def _wants_newer_limit(said: str) -> bool:
    """Returns whether the error of a refused request names both the refused and the required field."""
    return "max_completion_tokens" in said and re.search(r"\bmax_tokens\b", said) is not None


def _read(body: Mapping[str, Any], call: ChatRequest, form: RequestForm) -> ChatResponse:
    reply = read_reply(body, structured=form.structured)
    end = None if reply.text is None else stop_in(reply.text, call.sampling.stop)
    if reply.text is None or end is None:
        return reply
    text = reply.text[:end]  # some endpoints include the stop string
    return replace(reply, text=text) if text.strip() else replace(reply, text=None, reason="empty")


def _sampling(sampling: Sampling) -> dict[str, Any]:
    """Returns the sampling fields of a request; fields with the value None are left out later."""
    return {
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "logprobs": True if sampling.top_logprobs else None,
        "top_logprobs": sampling.top_logprobs or None,
    }


def _with_schema(body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    name = str(schema.get("title", "answer"))
    wanted = {"name": name, "strict": True, "schema": {key: each for key, each in schema.items() if key != "title"}}
    return {**body, "response_format": {"type": "json_schema", "json_schema": wanted}}
