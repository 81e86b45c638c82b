"""Connects to Redis or a compatible server in any topology.

redis://:secret@host:6379/0                        one server (rediss:// for TLS, unix:///path for a socket)
redis+sentinel://:secret@one:26379,two:26379/name  the current master of `name`; Sentinels get the same password, or
                                                   their own: ?sentinel_password=, which can be empty
redis+cluster://:secret@host:6379                  a cluster (rediss+cluster:// for TLS)

With `?prefix=shop`, the name of every key starts with `shop:`.
"""

from __future__ import annotations

from rolecall.config.parsing import InvalidText
from rolecall.extras import require
from rolecall.model.errors import ConfigError
from rolecall.transport.brokers.link import RedisLink

VARIABLE = "ROLECALL_REDIS_URL"


def connect_redis(url: str, variable: str = VARIABLE) -> RedisLink:
    """Create a link to the Redis of a URL. It connects with its first command.

    Raises ConfigError for the given variable if the extra `redis` is missing or the URL is invalid, without showing its
    password.
    """
    require("redis", variable=variable)
    from rolecall.transport.brokers.redis import link_to  # noqa: PLC0415 - it needs the extra

    try:
        return link_to(url)
    except (ValueError, IndexError, InvalidText) as error:
        shown = f"{url.partition('://')[0]}://..."
        raise ConfigError(f"is not an address of Redis: {error}", variable=variable, value=shown) from None
