"""A chat model behind an OpenAI-compatible endpoint."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from fcconan.llm.call import Call, Reply, Sampling
from fcconan.llm.client import Client
from fcconan.llm.completion import fault, read_reply
from fcconan.llm.journal import Request
from fcconan.llm.session import Answer, Job, Known, Session

_PATH = "/chat/completions"


class EndpointModel:
    """One chat model of an endpoint.

    If the endpoint refuses `response_format`, requests are sent once more without it, and all later ones too. What was
    answered without it in an earlier run is not asked again.

    Args:
        client: Sends the requests and keeps the answers.
        model: The endpoint's name of the model.
        structured: Whether to ask for structured output at all.
        further: Fields to put into every request, such as `reasoning_effort`.

    Attributes:
        name: The endpoint's name of the model.
        configuration: Endpoint, model and further fields.
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
        self.configuration: dict[str, Any] = {"endpoint": client.endpoint, "model": model, **(further or {})}
        self._further = dict(further or {})
        self._takes_schema: bool | None = None if structured else False
        self._probed = not structured
        self._kept_structured = structured  # where the last answer was found; most are found where it was

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
        return {"model": self.name, **_sampling(call.sampling), **self._further, "messages": call.messages}

    def bodies(self, call: Call) -> list[tuple[dict[str, Any], bool]]:
        """Returns the requests that a call may become, and whether they have its schema; the longest comes last."""
        bodies = [(self.body(call), False)]
        if call.schema is not None and self._takes_schema is not False:
            bodies.append((_with_schema(bodies[0][0], call.schema), True))
        return bodies

    def known(self, call: Call) -> Reply | None:
        """Returns the reply that is in the journal, or None."""
        return self._known(_Requests(self, call))

    def _known(self, requests: "_Requests") -> Reply | None:
        forms = [self._kept_structured, not self._kept_structured] if requests.may_have_schema else [False]
        for structured in forms:
            answer = self.client.known(requests.of(structured), fault)
            if answer is not None and answer.body is not None:
                self._kept_structured = structured
                return _read(answer.body, requests.call, structured)
        return None

    def _job(self, call: Call, probe: asyncio.Lock) -> Known[Reply] | Job[Reply]:
        requests = _Requests(self, call)
        known = self._known(requests)
        return Known(known) if known is not None else lambda session: self._ask(session, requests, probe)

    async def _ask(self, session: Session, requests: "_Requests", probe: asyncio.Lock) -> Reply:
        answer, structured = None, False
        if requests.call.schema is not None and not self._probed:
            # One call tells whether the endpoint takes a schema, so that not all are refused; the others wait for it
            # and then go at once, even if it told nothing.
            async with probe:
                if not self._probed:
                    answer, structured = await self._try_schema(session, requests)
                    self._probed = True
        if answer is None:
            answer, structured = await self._try_schema(session, requests)
        if answer.body is None:
            return Reply(reason=answer.reason, detail=answer.detail)
        return _read(answer.body, requests.call, structured)

    async def _try_schema(self, session: Session, requests: "_Requests") -> tuple[Answer, bool]:
        if requests.call.schema is None or self._takes_schema is False:
            return await session.send(requests.of(False), fault), False
        answer = await session.send(requests.of(True), fault)
        if answer.body is not None:
            self._takes_schema = True
            return answer, True
        if answer.reason != "bad_request":
            return answer, False
        answer = await session.send(requests.of(False), fault)
        if self._takes_schema is None and answer.body is not None:
            self._takes_schema = False
        return answer, False


class _Requests:
    """What a call may become: a request without its schema, and one with it."""

    def __init__(self, model: EndpointModel, call: Call) -> None:
        self.call, self._model = call, model
        self.may_have_schema = call.schema is not None and model._takes_schema is not False
        self._made: dict[bool, Request] = {}

    def of(self, structured: bool) -> Request:
        if structured not in self._made:
            body = self._model.body(self.call)
            if structured and self.call.schema is not None:
                body = _with_schema(body, self.call.schema)
            self._made[structured] = self._model.client.request(_PATH, body, sample=self.call.sample)
        return self._made[structured]


def _read(body: Mapping[str, Any], call: Call, structured: bool) -> Reply:
    return _before_stop(read_reply(body, structured=structured), call.sampling.stop)


def _before_stop(reply: Reply, stop: tuple[str, ...]) -> Reply:
    """Some endpoints leave the words in at which an answer shall stop."""
    if reply.text is None:
        return reply
    ends = [place for each in stop if (place := reply.text.find(each)) >= 0]
    text = reply.text[: min(ends)] if ends else reply.text
    return replace(reply, text=text) if text.strip() else replace(reply, text=None, reason="empty")


def _sampling(sampling: Sampling) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "top_p": sampling.top_p,
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
