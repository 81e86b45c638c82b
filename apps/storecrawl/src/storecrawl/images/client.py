"""Fetch one image through the egress, from allowed addresses, with redirects checked, within limits."""

from __future__ import annotations

import asyncio
from typing import Final

import httpx2

from storecrawl.egress import BodyTooLarge, BodyUnreadable, Egress, Visit, failure_of, read_body
from storecrawl.images.addresses import Addresses
from storecrawl.images.errors import ImageRefused, ImageUnavailable

MOST_REDIRECTS = 3
TIMEOUT = 20.0
ACCEPT = "image/webp,image/png,image/jpeg,image/gif"
FORBIDDEN, SERVER_ERRORS = 403, 500
# Statuses that are temporary.
PASSING: Final = {401, 403, 408, 425, 429}


class ImageClient:
    """Fetches images; `egress` provides routes, identities and rates."""

    def __init__(self, egress: Egress, addresses: Addresses, *, max_bytes: int, timeout: float = TIMEOUT) -> None:
        self._egress = egress
        self._addresses = addresses
        self._max_bytes = max_bytes
        self._timeout = timeout

    async def fetch(self, url: str) -> bytes:
        """Return an image's bytes. Raises ImageRefused, ImageUnavailable, HeldBack."""
        try:
            target = httpx2.URL(url)
            for _ in range(MOST_REDIRECTS + 1):
                answer = await self._request(target)
                if isinstance(answer, bytes):
                    return answer
                target = target.join(answer)
        except httpx2.InvalidURL as error:
            raise ImageRefused("its address cannot be read") from error
        raise ImageRefused(f"more than {MOST_REDIRECTS} redirects")

    async def _request(self, target: httpx2.URL) -> bytes | str:
        place = await self._addresses.check(target)
        headers = {"Accept": ACCEPT, **place.headers}
        async with self._egress.visit(place.host) as visit:
            session = await visit.ready()
            request = session.http.build_request("GET", place.url, headers=headers, extensions=dict(place.extensions))
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._answer(visit, await session.send(request))
            except TimeoutError as error:
                await visit.record_no_response(type(error).__name__)
                raise ImageUnavailable(f"no response ({type(error).__name__})") from error
            except httpx2.HTTPError as error:
                await visit.record_send_failure(failure_of(error, session.route))
                raise ImageUnavailable(f"no response ({type(error).__name__})") from error

    async def _answer(self, visit: Visit, response: httpx2.Response) -> bytes | str:
        try:
            await _report(visit, response.status_code)
            if response.has_redirect_location:
                return response.headers["location"]
            return await self._read(response)
        finally:
            await response.aclose()

    async def _read(self, response: httpx2.Response) -> bytes:
        try:
            return await read_body(response, self._max_bytes)
        except BodyTooLarge as error:
            raise ImageRefused(str(error)) from error
        except BodyUnreadable as error:
            raise ImageUnavailable(str(error)) from error


async def _report(visit: Visit, status: int) -> None:
    if status == FORBIDDEN:
        await visit.record_forbidden(f"HTTP {status}")
    elif status >= SERVER_ERRORS:
        await visit.record_no_response(f"HTTP {status}")
    elif status in PASSING:
        await visit.record_rate_limit(f"HTTP {status}", None)
    else:
        visit.record_success()
    if status in PASSING or status >= SERVER_ERRORS:
        raise ImageUnavailable(f"HTTP {status}")
    if status >= 400:  # noqa: PLR2004 - where HTTP's refusals begin
        raise ImageRefused(f"HTTP {status}")
