"""One request and its reply over HTTP: capped in time and size, kept to the upstream's own host."""

from __future__ import annotations

import asyncio
import email.utils
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx2

from storecrawl.upstream.egress import origin_of, same_origin
from storecrawl.upstream.errors import ForeignRedirect, TooLarge, Unavailable
from storecrawl.upstream.options import ClientOptions

MOST_REDIRECTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: status, the headers that matter, and the whole body, decompressed."""

    status: int
    content_type: str
    retry_after: float | None
    body: bytes


class Exchange:
    """Sends requests to one upstream, at most `concurrency` at a time. Raises only errors of the tree."""

    def __init__(self, base: httpx2.URL, options: ClientOptions) -> None:
        self._base = base
        self._options = options
        self._slots = asyncio.Semaphore(options.concurrency)
        self._http = httpx2.AsyncClient(
            headers=_identity(base, options),
            timeout=options.timeout,
            proxy=options.proxy,
            # A proxy is configured or there is none: one from the environment would evade the egress rules.
            trust_env=False,
            follow_redirects=False,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(self, path: str, operation: str, params: Mapping[str, str]) -> Reply:
        """Send a GET request with the parameters in its address."""
        return await self._send(self._request("GET", path, operation, params=dict(params)))

    async def post(self, path: str, operation: str, document: Mapping[str, Any]) -> Reply:
        """Send a POST request with a JSON document."""
        return await self._send(self._request("POST", path, operation, json=dict(document)))

    def _request(self, method: str, path: str, operation: str, **content: Any) -> httpx2.Request:
        url = self._base.copy_with(path=self._base.path.rstrip("/") + path)
        headers = {"x-apollo-operation-name": operation}
        return self._http.build_request(method, url, headers=headers, **content)

    async def _send(self, request: httpx2.Request) -> Reply:
        async with self._slots:
            try:
                async with asyncio.timeout(self._options.timeout):
                    return await self._follow(request)
            except TimeoutError as error:
                raise Unavailable(f"no complete answer within {self._options.timeout:g} s") from error
            except httpx2.HTTPError as error:
                raise Unavailable(f"{type(error).__name__}: {error}") from error

    async def _follow(self, request: httpx2.Request) -> Reply:
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._http.send(request, stream=True)
            try:
                if not response.has_redirect_location:
                    return await self._read(response)
                request = self._redirected(request, response.headers["location"])
            finally:
                await response.aclose()
        raise Unavailable(f"more than {MOST_REDIRECTS} redirects")

    def _redirected(self, request: httpx2.Request, location: str) -> httpx2.Request:
        try:
            target = request.url.join(location)
        except httpx2.InvalidURL as error:
            raise ForeignRedirect(location) from error
        if not same_origin(request.url, target):
            raise ForeignRedirect(str(target))
        return httpx2.Request(request.method, target, headers=request.headers, content=request.content)

    async def _read(self, response: httpx2.Response) -> Reply:
        cap, body = self._options.max_body_bytes, bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > cap:
                raise TooLarge(cap)
        return Reply(
            status=response.status_code,
            content_type=response.headers.get("content-type", ""),
            retry_after=seconds_of(response.headers.get("retry-after")),
            body=bytes(body),
        )


def seconds_of(retry_after: str | None) -> float | None:
    """Read a Retry-After header, seconds or a date; None if it is absent or unreadable."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _identity(base: httpx2.URL, options: ClientOptions) -> dict[str, str]:
    origin = options.origin or origin_of(base)
    return {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Accept-Language": options.accept_language,
        "User-Agent": options.user_agent,
        "Origin": origin,
        "Referer": f"{origin}/",
        "apollo-require-preflight": "true",
        **options.headers,
    }
