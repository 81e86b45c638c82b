"""Send one request over HTTP and read its response, within limits of time and size, on the upstream's own host.

The address is checked before anything is sent, and the egress is notified of each outcome.
"""

from __future__ import annotations

import asyncio
import email.utils
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx2

from storecrawl.egress import Blame, BodyTooLarge, BodyUnreadable, Session, Visit, failure_of, read_body
from storecrawl.platforms.errors import (
    Blocked,
    ForbiddenUrl,
    ForeignRedirect,
    Malformed,
    RateLimited,
    RouteFailed,
    TooLarge,
    Unavailable,
    Untrusted,
    UpstreamFailure,
)
from storecrawl.platforms.options import HttpOptions

MOST_REDIRECTS = 3
FORBIDDEN, PROXY_WANTS_CREDENTIALS = 403, 407
WEB_PAGE = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
SCHEMES = ("http", "https")
NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response: its status, the relevant headers, and the whole decompressed body.

    `path` is where it was found after redirects.
    """

    path: str
    status: int
    content_type: str
    retry_after: float | None
    body: bytes


class Exchange:
    """Sends requests to one upstream, at most `concurrency` at a time. Raises only errors of the tree."""

    def __init__(self, base: httpx2.URL, options: HttpOptions) -> None:
        self._base = base
        self._options = options
        self._headers = _headers(base, options)
        self._slots = asyncio.Semaphore(options.concurrency)

    async def get(self, visit: Visit, path: str, params: Mapping[str, str], headers: Mapping[str, str] = NONE) -> Reply:
        """Send a GET request with the parameters in its address. Raises HeldBack."""
        return await self._send(visit, "GET", path, headers, params=dict(params))

    async def post(
        self, visit: Visit, path: str, document: Mapping[str, Any], headers: Mapping[str, str] = NONE
    ) -> Reply:
        """Send a POST request with a JSON document. Raises HeldBack."""
        return await self._send(visit, "POST", path, headers, json=dict(document))

    async def get_page(self, visit: Visit, path: str) -> Reply:
        """Send a browser's GET request for a web page. Raises HeldBack."""
        return await self._send(visit, "GET", path, {"Accept": WEB_PAGE})

    async def _send(self, visit: Visit, method: str, path: str, headers: Mapping[str, str], **content: Any) -> Reply:
        url = self._base.copy_with(path=self._base.path.rstrip("/") + path)
        async with self._slots:
            session = await visit.ready()
            request = session.http.build_request(method, url, headers=self._headers | dict(headers), **content)
            try:
                async with asyncio.timeout(self._options.timeout):
                    return await self._follow(session, request)
            except TimeoutError as error:
                raise Unavailable(f"no complete response within {self._options.timeout:g} s") from error
            except httpx2.HTTPError as error:
                raise _failure_of(error, session, url.host) from error

    async def _follow(self, session: Session, request: httpx2.Request) -> Reply:
        for _ in range(MOST_REDIRECTS + 1):
            response = await session.send(request)
            try:
                if response.status_code == PROXY_WANTS_CREDENTIALS and session.route.forwards(request.url):
                    raise RouteFailed(f"{session.route.label}: the proxy rejects the route's credentials")
                if not response.has_redirect_location:
                    return await self._read(response)
                request = self._redirect(request, response.headers["location"])
            finally:
                await response.aclose()
        raise Unavailable(f"more than {MOST_REDIRECTS} redirects")

    def _redirect(self, request: httpx2.Request, location: str) -> httpx2.Request:
        try:
            target = request.url.join(location)
        except httpx2.InvalidURL as error:
            raise ForeignRedirect(location) from error
        if not same_origin(request.url, target):
            raise ForeignRedirect(str(target))
        return httpx2.Request(request.method, target, headers=request.headers, content=request.content)

    async def _read(self, response: httpx2.Response) -> Reply:
        try:
            body = await read_body(response, self._options.max_body_bytes)
        except BodyTooLarge as error:
            raise TooLarge(str(error)) from error
        except BodyUnreadable as error:
            raise Malformed(str(error)) from error
        return Reply(
            path=response.url.path,
            status=response.status_code,
            content_type=response.headers.get("content-type", ""),
            retry_after=self._cap_retry_after(response.headers.get("retry-after")),
            body=body,
        )

    def _cap_retry_after(self, retry_after: str | None) -> float | None:
        seconds = seconds_of(retry_after)
        return None if seconds is None else min(seconds, self._options.longest_retry_after)


def _failure_of(error: httpx2.HTTPError, session: Session, host: str) -> UpstreamFailure:
    failure = failure_of(error, session.route)
    match failure.blame:
        case Blame.ROUTE:
            return RouteFailed(failure.text)
        case Blame.WALL:
            # The proxy's 403 means that the host rejects all requests through this proxy.
            return Blocked(FORBIDDEN, by=failure.text)
        case Blame.CERTIFICATE:
            return Untrusted(host, failure.text)
        case Blame.HOST:
            return Unavailable(failure.text)


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds of a Retry-After header (a number or a date); None if absent or unreadable."""
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


def _headers(base: httpx2.URL, options: HttpOptions) -> dict[str, str]:
    origin = options.origin or origin_of(base)
    return {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Origin": origin,
        "Referer": f"{origin}/",
        **options.headers,
    }


async def report_failure(visit: Visit, failure: UpstreamFailure) -> None:
    """Report a failure to the visit. One that is independent of the identity counts as a success."""
    match failure:
        case Blocked(status=403):
            await visit.record_forbidden(str(failure))
        case Blocked() | ForeignRedirect() | Untrusted():
            await visit.record_rejection(str(failure))
        case RouteFailed():
            await visit.record_not_sent(str(failure))
        case RateLimited():
            await visit.record_rate_limit(str(failure), failure.retry_after)
        case Unavailable():
            await visit.record_no_response(str(failure), failure.retry_after)
        case _:
            visit.record_success()


def checked_base(url: str) -> httpx2.URL:
    """Return the upstream's address. Raises ForbiddenUrl unless it is a plain http(s)://host[:port][/path]."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise ForbiddenUrl(str(url), "it cannot be read") from error
    if parsed.scheme not in SCHEMES:
        raise ForbiddenUrl(url, "only http and https are allowed")
    if not parsed.host:
        raise ForbiddenUrl(url, "it has no host")
    if parsed.userinfo:
        raise ForbiddenUrl(url, "it has a user name")
    if parsed.query or parsed.fragment:
        raise ForbiddenUrl(url, "it has a query or a fragment")
    return parsed


def same_origin(first: httpx2.URL, second: httpx2.URL) -> bool:
    """Return whether two addresses share scheme, host and port."""
    return origin_of(first) == origin_of(second)


def origin_of(url: httpx2.URL) -> str:
    """Return scheme, host and port as a browser writes them."""
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"
