"""How often a caller may ask and an address may try to log in: sliding windows of a minute.

They are counted in this process: several processes that serve the same pool allow as many times as much.
"""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address, ip_network

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from rolecall.config import AccessSettings
from rolecall.model.access import Caller
from rolecall.model.errors import TooManyRequests

__all__ = ["Rates", "network_of"]

NEIGHBOURS = 64


class Rates:
    """Counts requests by caller, and attempts by address."""

    def __init__(self, settings: AccessSettings) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._requests = RateLimitItemPerMinute(settings.requests_per_minute)
        self._attempts = RateLimitItemPerMinute(settings.logins_per_minute)

    async def count_request(self, caller: Caller) -> None:
        """Raise TooManyRequests for a caller who asks too often."""
        if caller.counted_as is not None:
            await self._count(self._requests, "caller", caller.counted_as)

    async def count_attempt(self, address: str | None) -> None:
        """Raise TooManyRequests for an address from which too many have tried to come in."""
        await self._count(self._attempts, "address", network_of(address))

    async def is_worn_out(self, address: str | None) -> bool:
        """Whether one more attempt from there would be too many; none is counted."""
        return not await self._limiter.test(self._attempts, "address", network_of(address))

    async def _count(self, item: RateLimitItem, *who: str) -> None:
        if not await self._limiter.hit(item, *who):
            stats = await self._limiter.get_window_stats(item, *who)
            wait = max(1.0, stats.reset_time - time.time())
            raise TooManyRequests(f"more than {item.amount} in a minute", retry_after=wait)


def network_of(address: str | None) -> str:
    """The network whose addresses count as one: a subscriber has a whole /64 of version 6 at hand."""
    try:
        known = ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or "unknown"
    if isinstance(known, IPv6Address):
        return str(ip_network((known, NEIGHBOURS), strict=False))
    return str(known)
