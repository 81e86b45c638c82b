"""Rate limits for requests of a caller and login attempts of an address: sliding windows of a minute and of an hour.

The counts are kept in this process, so several servers of one pool allow more in total. With Redis, requests are
counted there for all servers together; while Redis is away, each process counts for itself.
"""

from __future__ import annotations

import logging
import time
from ipaddress import IPv6Address, ip_address, ip_network

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from rolecall.config import AccessSettings
from rolecall.model.errors import TooManyRequests
from rolecall.model.operator.access import Caller
from rolecall.transport.brokers import RedisAway
from rolecall.web.http.shared_rates import SharedRates

NEIGHBOURS = 64
ALONE_SECONDS = 10.0
log = logging.getLogger("rolecall.web")
SPANS = {RateLimitItemPerMinute: "a minute", RateLimitItemPerHour: "an hour"}


class Rates:
    """Counts requests by caller and login attempts by address."""

    def __init__(self, settings: AccessSettings, shared: SharedRates | None = None) -> None:
        self._shared = shared
        self._alone_until = 0.0
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._requests: list[RateLimitItem] = [RateLimitItemPerMinute(settings.requests_per_minute)]
        if settings.requests_per_hour is not None:
            self._requests.append(RateLimitItemPerHour(settings.requests_per_hour))
        self._attempts = RateLimitItemPerMinute(settings.logins_per_minute)

    async def count_request(self, caller: Caller) -> None:
        """Count a request. Raises TooManyRequests if the caller exceeds a limit."""
        if caller.limited_as is not None:
            for rate in self._requests:
                await self._count_shared(rate, caller.limited_as)

    async def count_attempt(self, address: str | None, kind: str = "address") -> None:
        """Count a login attempt; each kind has its own count. Raises TooManyRequests after too many."""
        await self._count(self._attempts, kind, network_of(address))

    async def is_exhausted(self, address: str | None) -> bool:
        """Return whether one more attempt from the address would be too many. Counts nothing."""
        return not await self._limiter.test(self._attempts, "address", network_of(address))

    async def _count_shared(self, item: RateLimitItem, caller: str) -> None:
        if self._shared is None or time.monotonic() < self._alone_until:
            await self._count(item, "caller", caller)
            return
        try:
            wait = await self._shared.hit(caller, item.amount, item.get_expiry())
        except RedisAway as error:
            log.warning("Redis is unavailable, so each server counts requests on its own: %s", error)
            self._alone_until = time.monotonic() + ALONE_SECONDS
            await self._count(item, "caller", caller)
        else:
            if wait:
                raise _too_many(item, wait)

    async def _count(self, item: RateLimitItem, *who: str) -> None:
        if not await self._limiter.hit(item, *who):
            stats = await self._limiter.get_window_stats(item, *who)
            raise _too_many(item, stats.reset_time - time.time())


def _too_many(item: RateLimitItem, wait: float) -> TooManyRequests:
    return TooManyRequests(f"more than {item.amount} in {SPANS[type(item)]}", retry_after=max(1.0, wait))


def network_of(address: str | None) -> str:
    """Return the network whose addresses count as one: a /64 for IPv6, because subscribers usually have one."""
    try:
        known = ip_address(unmap_address((address or "").partition("%")[0]))
    except ValueError:
        return address or "unknown"
    if isinstance(known, IPv6Address):
        return str(ip_network((known, NEIGHBOURS), strict=False))
    return str(known)


def unmap_address(address: str) -> str:
    """Return the IPv4 address of a mapped one (`::ffff:192.0.2.1`), as sockets for both families report it."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    mapped = known.ipv4_mapped if isinstance(known, IPv6Address) else None
    return str(mapped or address)
