"""Single requests to an endpoint over HTTP, with the reason of each failure."""

import asyncio
import re
from http import HTTPStatus
from typing import Any, Self

from fcconan.data import mask_secrets, proxy_for
from fcconan.models.jobs import Check
from fcconan.models.requests import Request, as_json
from fcconan.models.responses import EndpointError, EndpointResponse, error_of, one_line, read_body, retry_after

_WHOLE = 10  # maximum duration of a request, in timeouts; for bodies that arrive very slowly
_LARGEST = 64 << 20  # bytes of a decompressed response
# Messages of endpoints for prompts that exceed the context of the model.
_TOO_LONG = re.compile(r"context (?:length|size|window)|too many tokens|too many input tokens", re.IGNORECASE)
_STOPPING = {
    401: "check the key in {key}",
    402: "check the account's credit",
    403: "check that the key in {key} may use this model",
    404: "check the address and the model's name",
    405: "check the address and the model's name",
}


class Transport:
    """A connection to an endpoint, as an asynchronous context manager.

    Args:
        endpoint: Address without user and password.
        authorization: Authorization header, with the key or with user and password of the address.
        secrets: Texts that are masked in all responses.
        key_variable: Environment variable of the key, for messages.
        timeout: Maximum number of seconds without data.
    """

    def __init__(
        self, endpoint: str, authorization: str, secrets: tuple[str, ...], key_variable: str, timeout: float
    ) -> None:
        self._endpoint, self._authorization, self._secrets = endpoint, authorization, secrets
        self._key_variable, self._timeout = key_variable, timeout
        self._http: Any = None

    async def __aenter__(self) -> Self:
        import aiohttp

        # aiohttp would look up the proxy in a thread and read .netrc for each request.
        proxy = proxy_for(self._endpoint)
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the session limits the number of requests
            timeout=aiohttp.ClientTimeout(_WHOLE * self._timeout, sock_connect=self._timeout, sock_read=self._timeout),
            headers={"Content-Type": "application/json", "Authorization": self._authorization},
            proxy=None if proxy is None else proxy.with_login,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    async def post(self, request: Request, check: Check | None) -> EndpointResponse:
        """Sends a request once. Redirects are not followed, so that key and texts do not reach another address.

        Raises:
            EndpointError: The endpoint refuses all requests.
        """
        import aiohttp

        url, data = self._endpoint + request.path, as_json(request.body).encode()
        try:
            async with self._http.post(url, data=data, allow_redirects=False) as response:
                await response.content.readexactly(_LARGEST + 1)
            return EndpointResponse(reason="bad_body", detail=f"the body is larger than {_LARGEST >> 20} MB")
        except asyncio.IncompleteReadError as whole_body:
            raw = mask_secrets(whole_body.partial, self._secrets)
        except aiohttp.ServerTimeoutError:
            return EndpointResponse(reason="timeout", detail=f"no answer within {self._timeout:g} s")
        except TimeoutError:
            return EndpointResponse(reason="timeout", detail=f"no whole answer within {_WHOLE * self._timeout:g} s")
        except aiohttp.ClientConnectorError as error:  # no connection, so no data were sent
            return EndpointResponse(reason="connection", detail=one_line(error, self._secrets), is_charged=False)
        except aiohttp.ClientResponseError as error:
            return EndpointResponse(reason="connection", detail=type(error).__name__)
        except (aiohttp.ClientError, OSError) as error:
            return EndpointResponse(reason="connection", detail=one_line(error, self._secrets))
        if response.status != HTTPStatus.OK:
            return self._failure(response.status, response.headers, raw)
        body, fault = read_body(raw)
        if body is not None and check is not None:
            fault = check(request.body, body) or ""
        return (
            EndpointResponse(reason="bad_body", detail=one_line(fault, self._secrets))
            if fault
            else EndpointResponse(body)
        )

    def _failure(self, status: int, headers: Any, raw: bytes) -> EndpointResponse:
        """Returns the reason of an error status.

        Raises:
            EndpointError: The endpoint would refuse all other requests as well.
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
            return EndpointResponse(None, "rate_limited", message, wait, is_charged=False)
        if status < 300 or status >= 500 or status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT):
            return EndpointResponse(None, "server_error", message, wait, is_charged=status >= 500)
        too_long = code == "context_length_exceeded" or _TOO_LONG.search(message)
        return EndpointResponse(None, "too_long" if too_long else "bad_request", message, is_charged=False)
