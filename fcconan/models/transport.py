"""Sends one request to an endpoint over HTTP, and names the reason of each failure."""

import asyncio
import re
from http import HTTPStatus
from typing import Any, Self

from fcconan.data import masked, proxy_for
from fcconan.models.jobs import Check
from fcconan.models.requests import Request, as_json
from fcconan.models.responses import Answer, EndpointError, error_of, one_line, read_body, retry_after

_WHOLE = 10  # timeouts that a request as a whole may take, for bodies that trickle for ever
_LARGEST = 64 << 20  # bytes of a response, unpacked; a thousandth of them may be sent
# How endpoints say that a prompt does not fit into the model's context.
_TOO_LONG = re.compile(r"context (?:length|size|window)|too many tokens|too many input tokens", re.IGNORECASE)
_STOPPING = {
    401: "check the key in {key}",
    402: "check the account's credit",
    403: "check that the key in {key} may use this model",
    404: "check the address and the model's name",
    405: "check the address and the model's name",
}


class Transport:
    """A connection to an endpoint; it is open in a context, within an event loop.

    Args:
        endpoint: The address without user and password.
        authorization: The header that carries the key, or the address's user and password.
        secrets: Texts that are masked in all that the endpoint sends.
        key_variable: The environment variable that holds the key, for messages.
        timeout: Seconds without a sign of the endpoint.
    """

    def __init__(
        self, endpoint: str, authorization: str, secrets: tuple[str, ...], key_variable: str, timeout: float
    ) -> None:
        self._endpoint, self._authorization, self._secrets = endpoint, authorization, secrets
        self._key_variable, self._timeout = key_variable, timeout
        self._http: Any = None

    async def __aenter__(self) -> Self:
        import aiohttp

        # The library would look for a proxy in a thread for every request, and read the user's .netrc as often.
        proxy = proxy_for(self._endpoint)
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the session's own limit goes before it
            timeout=aiohttp.ClientTimeout(_WHOLE * self._timeout, sock_connect=self._timeout, sock_read=self._timeout),
            headers={"Content-Type": "application/json", "Authorization": self._authorization},
            proxy=None if proxy is None else proxy.with_login,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    async def post(self, request: Request, check: Check | None) -> Answer:
        """Sends a request once. Redirections are not followed: neither key nor texts reach another address.

        Raises:
            EndpointError: The endpoint refuses every request.
        """
        import aiohttp

        url, data = self._endpoint + request.path, as_json(request.body).encode()
        try:
            async with self._http.post(url, data=data, allow_redirects=False) as response:
                await response.content.readexactly(_LARGEST + 1)
            return Answer(reason="bad_body", detail=f"the body is larger than {_LARGEST >> 20} MB")
        except asyncio.IncompleteReadError as whole_body:
            raw = masked(whole_body.partial, self._secrets)
        except aiohttp.ServerTimeoutError:
            return Answer(reason="timeout", detail=f"no answer within {self._timeout:g} s")
        except TimeoutError:
            return Answer(reason="timeout", detail=f"no whole answer within {_WHOLE * self._timeout:g} s")
        except aiohttp.ClientConnectorError as error:  # without a connection nothing was sent
            return Answer(reason="connection", detail=one_line(error, self._secrets), is_charged=False)
        except aiohttp.ClientResponseError as error:
            return Answer(reason="connection", detail=type(error).__name__)
        except (aiohttp.ClientError, OSError) as error:
            return Answer(reason="connection", detail=one_line(error, self._secrets))
        if response.status != HTTPStatus.OK:
            return self._failure(response.status, response.headers, raw)
        body, fault = read_body(raw)
        if body is not None and check is not None:
            fault = check(request.body, body) or ""
        return Answer(reason="bad_body", detail=one_line(fault, self._secrets)) if fault else Answer(body)

    def _failure(self, status: int, headers: Any, raw: bytes) -> Answer:
        """Returns the reason of a refusal.

        Raises:
            EndpointError: The endpoint would refuse every other request as well.
        """
        message, code = error_of(raw)
        advice = _STOPPING.get(status)
        if 300 <= status < 400:
            message, advice = f"moved to {headers.get('Location', 'an unknown address')}", "give the new address"
        message = one_line(message, self._secrets)
        if status == HTTPStatus.TOO_MANY_REQUESTS and code == "insufficient_quota":
            advice = "check the account's credit"
        if advice is not None:
            advice = advice.format(key=self._key_variable)
            raise EndpointError(f"{self._endpoint} answered {status} ({message}): {advice}")
        message = f"Error code: {status} - {message}"
        wait = retry_after(headers)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return Answer(None, "rate_limited", message, wait, is_charged=False)
        if status < 300 or status >= 500 or status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT):
            return Answer(None, "server_error", message, wait, is_charged=status >= 500)
        too_long = code == "context_length_exceeded" or _TOO_LONG.search(message)
        return Answer(None, "too_long" if too_long else "bad_request", message, is_charged=False)
