"""A chat model behind an OpenAI-compatible endpoint."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from fcconan.models.client import Client
from fcconan.models.jobs import Job, Known, Sender
from fcconan.models.requests import Call, Reply, Request, Sampling
from fcconan.models.responses import fault, read_reply
from fcconan.models.token_sampling import stop_in

_PATH = "/chat/completions"


class EndpointModel:
    """One chat model of an endpoint.

    If the endpoint refuses `response_format`, requests are sent once more without it, and all later ones too; if it
    wants `max_completion_tokens` for `max_tokens`, as reasoning models of OpenAI do, likewise. What was answered in
    another of these forms in an earlier run is not asked again.

    Args:
        client: Sends the requests and keeps the answers.
        model: The endpoint's name of the model.
        structured: Whether to ask for structured output at all.
        further: Fields to put into every request, such as `reasoning_effort`; one that is None is left out, such as a
            `temperature` that the model refuses.

    Attributes:
        name: The endpoint's name of the model.
        configuration: Endpoint, model, whether structured output is asked for, and further fields.
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
        self._newer_limit = False  # whether it wants `max_completion_tokens`
        self._probed: set[bool] = set()  # with a schema, without one
        self._kept = Form(structured, False)  # where the last answer was found; most are found where it was

    @cached_property
    def _inherits(self) -> bool:
        """Whether the store held anything at first. If not, it holds what was sent since, which sending looks for."""
        return not self.client.answers.is_empty()

    def replies(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """Yields one reply for every call, in their order; many are asked at the same time.

        Raises:
            EndpointError: The endpoint refuses everything.
            InputError: There is no key, or the limit of cost is reached.
        """
        # So many may be refused until one tells what the endpoint takes. A refusal costs nothing but its turn.
        probes = asyncio.Semaphore(1 if self.client.gap else self.client.concurrency)
        yield from self.client.run(self._job(call, probes) for call in calls)

    def body(self, call: Call) -> dict[str, Any]:
        """Returns the longest request that a call may become: with its schema, where the endpoint may take one."""
        return self._body(call, Form(self._may_have_schema(call), self._newer_limit))

    def known(self, call: Call) -> Reply | None:
        """Returns the reply that is stored, or None."""
        limits = (False, True) if call.sampling.max_tokens is not None else (False,)
        structures = (True, False) if self._may_have_schema(call) else (False,)
        forms = [Form(structured, newer) for newer in limits for structured in structures]
        for form in sorted(forms, key=lambda form: form != self._kept):
            answer = self.client.known(self._request(call, form), fault)
            if answer is not None and answer.body is not None:
                self._kept = form
                self._newer_limit = self._newer_limit or form.newer_limit
                return _read(answer.body, call, form)
        return None

    def _may_have_schema(self, call: Call) -> bool:
        return call.schema is not None and self._takes_schema is not False

    def _body(self, call: Call, form: "Form") -> dict[str, Any]:
        fields = _sampling(call.sampling)
        if form.newer_limit:
            fields["max_completion_tokens"] = fields.pop("max_tokens")
        fields = {name: each for name, each in {**fields, **self._further}.items() if each is not None}
        body = {"model": self.name, **fields, "messages": call.messages}
        return _with_schema(body, call.schema) if form.structured and call.schema is not None else body

    def _request(self, call: Call, form: "Form") -> Request:
        return self.client.request(_PATH, self._body(call, form), sample=call.sample)

    def _job(self, call: Call, probes: asyncio.Semaphore) -> Known[Reply] | Job[Reply]:
        known = self.known(call) if self._inherits else None
        return Known(known) if known is not None else lambda sender: self._ask(sender, call, probes)

    async def _ask(self, sender: Sender, call: Call, probes: asyncio.Semaphore) -> Reply:
        kind = self._may_have_schema(call)
        if kind not in self._probed:
            # The first calls tell what the endpoint takes, so that later ones are not refused, which wait until one of
            # them is answered, even if it told nothing.
            async with probes:
                if kind not in self._probed:
                    reply = await self._send(sender, call)
                    self._probed.add(kind)
                    return reply
        return await self._send(sender, call)

    async def _send(self, sender: Sender, call: Call) -> Reply:
        """Sends a call in the form that the endpoint takes, or else in others until it takes one."""
        form = Form(self._may_have_schema(call), self._newer_limit)
        answer = await sender.send(self._request(call, form), fault)
        while answer.reason == "bad_request":
            if not form.newer_limit and _wants_newer_limit(answer.detail):
                form = Form(form.structured, True)
            elif form.structured:
                form = Form(False, form.newer_limit)
            else:
                break
            answer = await sender.send(self._request(call, form), fault)
        if answer.body is None:
            return Reply(reason=answer.reason, detail=answer.detail)
        # Only an endpoint that refuses one form and takes another is known to want it.
        self._newer_limit = self._newer_limit or form.newer_limit
        if call.schema is not None and (form.structured or self._takes_schema is None):
            self._takes_schema = form.structured
        return _read(answer.body, call, form)


class Form(NamedTuple):
    """In which form a call is sent: with its schema, and with `max_completion_tokens` for `max_tokens`."""

    structured: bool
    newer_limit: bool


def _wants_newer_limit(said: str) -> bool:
    """Whether an endpoint that refuses a request names both, the field that it refuses and the one that it wants."""
    return "max_completion_tokens" in said and re.search(r"\bmax_tokens\b", said) is not None


def _read(body: Mapping[str, Any], call: Call, form: Form) -> Reply:
    reply = read_reply(body, structured=form.structured)
    end = None if reply.text is None else stop_in(reply.text, call.sampling.stop)
    if reply.text is None or end is None:
        return reply
    text = reply.text[:end]  # some endpoints leave in the words at which an answer shall stop
    return replace(reply, text=text) if text.strip() else replace(reply, text=None, reason="empty")


def _sampling(sampling: Sampling) -> dict[str, Any]:
    """Returns the fields of a request that say how words are drawn; those that are None are left out of it."""
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
