"""A chat model behind an OpenAI-compatible endpoint."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from fcconan.models.begun import Known
from fcconan.models.client import Client
from fcconan.models.requests import Call, Reply, Request, Sampling
from fcconan.models.responses import Answer, fault, read_reply
from fcconan.models.session import Job, Session
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
        self._kept = _Form(structured)  # where the last answer was found; most are found where it was

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
        probe = asyncio.Lock()
        yield from self.client.run(self._job(call, probe) for call in calls)

    def body(self, call: Call) -> dict[str, Any]:
        """Returns the request of a call, without a schema."""
        return self._body(call, _Form(False, self._newer_limit))

    def bodies(self, call: Call) -> list[tuple[dict[str, Any], bool]]:
        """Returns the requests that a call may become, and whether they have its schema; the longest comes last."""
        forms = [False, True] if call.schema is not None and self._takes_schema is not False else [False]
        return [(self._body(call, _Form(structured, self._newer_limit)), structured) for structured in forms]

    def _body(self, call: Call, form: "_Form") -> dict[str, Any]:
        fields = _sampling(call.sampling)
        if form.newer_limit:
            fields = {
                ("max_completion_tokens" if name == "max_tokens" else name): each for name, each in fields.items()
            }
        fields = {name: each for name, each in {**fields, **self._further}.items() if each is not None}
        body = {"model": self.name, **fields, "messages": call.messages}
        return _with_schema(body, call.schema) if form.structured and call.schema is not None else body

    def known(self, call: Call) -> Reply | None:
        """Returns the reply that is stored, or None."""
        return self._known(_Requests(self, call))

    def _known(self, requests: "_Requests") -> Reply | None:
        for form in sorted(requests.forms, key=lambda form: form != self._kept):
            answer = self.client.known(requests.of(form), fault)
            if answer is not None and answer.body is not None:
                self._kept = form
                self._newer_limit = self._newer_limit or form.newer_limit
                return _read(answer.body, requests.call, form.structured)
        return None

    def _job(self, call: Call, probe: asyncio.Lock) -> Known[Reply] | Job[Reply]:
        requests = _Requests(self, call)
        known = self._known(requests) if self._inherits else None
        return Known(known) if known is not None else lambda session: self._ask(session, requests, probe)

    async def _ask(self, session: Session, requests: "_Requests", probe: asyncio.Lock) -> Reply:
        answer, structured = None, False
        kind = requests.may_have_schema
        if kind not in self._probed:
            # One call tells what the endpoint takes, so that not all are refused; the others wait for it and then go at
            # once, even if it told nothing.
            async with probe:
                if kind not in self._probed:
                    answer, structured = await self._try_schema(session, requests)
                    self._probed.add(kind)
        if answer is None:
            answer, structured = await self._try_schema(session, requests)
        if answer.body is None:
            return Reply(reason=answer.reason, detail=answer.detail)
        return _read(answer.body, requests.call, structured)

    async def _try_schema(self, session: Session, requests: "_Requests") -> tuple[Answer, bool]:
        if requests.call.schema is None or self._takes_schema is False:
            return await self._try_limit(session, requests, False), False
        answer = await self._try_limit(session, requests, True)
        if answer.body is not None:
            self._takes_schema = True
            return answer, True
        if answer.reason != "bad_request":
            return answer, False
        answer = await self._try_limit(session, requests, False)
        if self._takes_schema is None and answer.body is not None:
            self._takes_schema = False
        return answer, False

    async def _try_limit(self, session: Session, requests: "_Requests", structured: bool) -> Answer:
        newer = self._newer_limit
        answer = await session.send(requests.of(_Form(structured, newer)), fault)
        if newer or answer.reason != "bad_request" or not _wants_newer_limit(answer.detail):
            return answer
        again = await session.send(requests.of(_Form(structured, True)), fault)
        # Only who refuses the one name and takes the other, schemas aside, is known to want it.
        if again.body is not None or not _wants_newer_limit(again.detail):
            self._newer_limit = True
        return again


class _Form(NamedTuple):
    """In which form a call is sent: with its schema, and with `max_completion_tokens` for `max_tokens`."""

    structured: bool
    newer_limit: bool = False


class _Requests:
    """What a call may become."""

    def __init__(self, model: EndpointModel, call: Call) -> None:
        self.call, self._model = call, model
        self.may_have_schema = call.schema is not None and model._takes_schema is not False
        limits = (False, True) if call.sampling.max_tokens is not None else (False,)
        self.forms = [
            _Form(structured, newer) for newer in limits for structured in (True, False)[not self.may_have_schema :]
        ]
        self._made: dict[_Form, Request] = {}

    def of(self, form: _Form) -> Request:
        if form not in self._made:
            self._made[form] = self._model.client.request(
                _PATH, self._model._body(self.call, form), sample=self.call.sample
            )
        return self._made[form]


def _wants_newer_limit(said: str) -> bool:
    """Whether an endpoint that refuses a request names both, the field that it refuses and the one that it wants."""
    return "max_completion_tokens" in said and re.search(r"\bmax_tokens\b", said) is not None


def _read(body: Mapping[str, Any], call: Call, structured: bool) -> Reply:
    return _before_stop(read_reply(body, structured=structured), call.sampling.stop)


def _before_stop(reply: Reply, stop: tuple[str, ...]) -> Reply:
    """Some endpoints leave the words in at which an answer shall stop."""
    if reply.text is None:
        return reply
    text = reply.text[: stop_in(reply.text, stop)]
    return replace(reply, text=text) if text.strip() else replace(reply, text=None, reason="empty")


def _sampling(sampling: Sampling) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
    }
    if sampling.top_logprobs:
        fields |= {"logprobs": True, "top_logprobs": sampling.top_logprobs}
    return {name: value for name, value in fields.items() if value is not None}


def _with_schema(body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    name = str(schema.get("title", "answer"))
    wanted = {"name": name, "strict": True, "schema": {key: each for key, each in schema.items() if key != "title"}}
    return {**body, "response_format": {"type": "json_schema", "json_schema": wanted}}
