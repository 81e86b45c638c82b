"""Rates that several servers count together: a sorted set a caller in Redis, whose members are requests by their time.

rate_limit:user:<caller>:60     of the last minute, forgotten a minute after the last one
"""

from __future__ import annotations

import secrets

from rolecall.brokers import RedisLink, Script

__all__ = ["SharedRates"]

# By Redis' own clock, whichever server asks. The answer is in milliseconds, 0 for what may pass.
HIT = Script("""
local window, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZCARD', KEYS[1]) >= most then
    return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] + window - now
end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
return 0
""")


class SharedRates:
    """Windows that slide: a request counts from when it came until it is that old."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def hit(self, caller: str, most: int, seconds: int) -> float:
        """Count a request, unless it is one too many; return for how many seconds it must wait then, else 0.

        Raises RedisAway.
        """
        key = f"rate_limit:user:{caller}:{seconds}"
        return int(await self._link.run(HIT, [key], [seconds * 1000, most, secrets.token_hex(8)])) / 1000
