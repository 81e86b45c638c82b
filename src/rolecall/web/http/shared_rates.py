"""Rate limits that several servers share: a sorted set in Redis for each caller, with one member for each request.

rate_limit:user:<caller>:60     the last minute; expires a minute after the last request
"""

from __future__ import annotations

import secrets

from rolecall.transport.brokers import RedisLink, Script

# Uses the clock of Redis for all servers. Returns milliseconds to wait, or 0.
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
    """Sliding windows: a request counts until it is as old as the window."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def hit(self, caller: str, most: int, seconds: int) -> float:
        """Count a request and return 0, or return the seconds to wait if it is one too many. Raises RedisAway."""
        key = f"rate_limit:user:{caller}:{seconds}"
        return int(await self._link.run(HIT, [key], [seconds * 1000, most, secrets.token_hex(8)])) / 1000
