"""Connections to other people's brokers, for the floors that may use one; each comes with an extra of the package.

`door` is what others import: it needs no extra until somebody connects.
"""

from __future__ import annotations

from rolecall.brokers.door import RedisAway, RedisLink, RedisRefuses, Script, connect_redis

__all__ = ["RedisAway", "RedisLink", "RedisRefuses", "Script", "connect_redis"]
