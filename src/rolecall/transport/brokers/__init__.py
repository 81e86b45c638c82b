"""Connections to brokers. Each needs an extra of the package, but only when a connection is made (see `door`)."""

from __future__ import annotations

from rolecall.transport.brokers.door import connect_redis
from rolecall.transport.brokers.link import RedisAway, RedisLink, RedisRefuses, Script

__all__ = ["RedisAway", "RedisLink", "RedisRefuses", "Script", "connect_redis"]
