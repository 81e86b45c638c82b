"""A connection to Redis as callers see it, and its errors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from rolecall.model.errors import RolecallError


class RedisAway(RolecallError):
    """Redis does not answer, or temporarily cannot be used."""


class RedisRefuses(RedisAway):
    """Redis rejects this command: it is unknown, or the key has another type."""


@dataclass(frozen=True)
class Script:
    """A Lua script. Its arguments and its result are described where it is defined."""

    text: str

    @cached_property
    def digest(self) -> str:
        """The digest by which a server identifies it."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class RedisLink(Protocol):
    """The connections of a process to one Redis. Commands can run concurrently.

    Replies are bytes. Commands are not repeated: whether that is safe is the caller's decision. All methods raise
    RedisAway for any error of the server or the connection, and after two seconds without an answer. The prefix of the
    address is added to the keys of commands and scripts, but not to channels.
    """

    @property
    def cluster(self) -> bool:
        """True if commands that are sent together must use keys of one slot."""

    async def call(self, *words: Any) -> Any:
        """Send one command and return its reply."""

    async def calls(self, commands: Iterable[Sequence[Any]]) -> list[Any]:
        """Send several commands in a pipeline, without a transaction. Raises the first error among the replies."""

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run a script. It is sent to the server once."""

    async def subscribe(self, channel: str, receive: Callable[[str], None]) -> None:
        """Call `receive` with every message published on a channel. Ends only with an error or a cancellation."""

    async def close(self) -> None:
        """Close every connection. Idempotent."""
