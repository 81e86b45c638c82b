"""The door to Redis, or to a server that speaks its language, however it is set up.

redis://:secret@host:6379/0                        one server (rediss:// by TLS, unix:///path a socket)
redis+sentinel://:secret@one:26379,two:26379/name  whichever server Sentinel calls the master of `name`; Sentinels are
                                                   shown that password, or their own: ?sentinel_password=, none if empty
redis+cluster://:secret@host:6379                  a cluster (rediss+cluster:// by TLS)

With `?prefix=shop` the name of every key begins with `shop:`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, cast

from rolecall.config.parsing import Unfit
from rolecall.extras import require
from rolecall.model.errors import ConfigError, RolecallError

__all__ = ["RedisAway", "RedisLink", "RedisRefuses", "Script", "connect_redis"]

VARIABLE = "ROLECALL_REDIS_URL"


class RedisAway(RolecallError):
    """Redis does not answer, or not as one who can be worked with just now."""


class RedisRefuses(RedisAway):
    """Redis answers, and refuses this command: it does not know it, or its keys are of another type."""


@dataclass(frozen=True)
class Script:
    """A Lua script; what it is given and answers is said where it stands."""

    text: str

    @cached_property
    def digest(self) -> str:
        """The name by which a server knows it."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class RedisLink(Protocol):
    """The connections of one process to one Redis: any number of commands side by side.

    What is read is bytes. No command is repeated: whether to send it again is for the caller to judge. Everything
    raises RedisAway for whatever the server or the way to it does wrong, after two seconds without an answer. The
    prefix of the address stands before the keys that commands and scripts are given, and before no channel.
    """

    @property
    def cluster(self) -> bool:
        """Whether what is asked at once must be of one slot."""

    async def call(self, *words: Any) -> Any:
        """Send one command and return its answer."""

    async def calls(self, commands: Iterable[Sequence[Any]]) -> list[Any]:
        """Send several commands at once, which is no transaction; the first error among the answers is raised."""

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run a script, which the server is sent once."""

    async def hear(self, channel: str, heard: Callable[[str], None]) -> None:
        """Call `heard` with every message that is published on a channel; end by an error or a cancellation only."""

    async def close(self) -> None:
        """Close every connection; again does nothing."""


def connect_redis(url: str, variable: str = VARIABLE) -> RedisLink:
    """Make a link to the Redis of a URL; it connects with its first command.

    Raises ConfigError, in the name of the variable that the URL is from, where the extra `redis` is missing and for
    what is no such URL; the URL's password is not shown.
    """
    require("redis", variable=variable)
    try:
        return cast("RedisLink", import_module("rolecall.brokers.redis").link_to(url))
    except (ValueError, IndexError, Unfit) as error:
        shown = f"{url.partition('://')[0]}://..."
        raise ConfigError(f"is no address of Redis: {error}", variable=variable, value=shown) from None
