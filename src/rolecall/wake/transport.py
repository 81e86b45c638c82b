"""What carries notifications: a thin provider each, which others can write too, and the names of the channels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

from rolecall.model.errors import RolecallError

WAKE_CHANNEL = "rolecall_wake"
CANCEL_CHANNEL = "rolecall_cancel"
HANDLERS_CHANNEL = "rolecall_handlers"
COMMAND_CHANNEL = "rolecall_command"
PAUSE_CHANNEL = "rolecall_pause"
CHANNELS = (WAKE_CHANNEL, CANCEL_CHANNEL, HANDLERS_CHANNEL, COMMAND_CHANNEL, PAUSE_CHANNEL)

# What a relay says of itself, where it passes the others on: that it lives, or that it missed something.
BEAT_CHANNEL = "rolecall_beat"
BACK = "back"

Message = tuple[str, str]


class Reach(StrEnum):
    """Whose notifications a transport brings.

    `all`: the database's, itself. `relayed`: the database's, while a relay passes them on. `process`: what clients of
    the same process say, so that whoever hears them polls as well. `nothing`: none.
    """

    ALL = "all"
    RELAYED = "relayed"
    PROCESS = "process"
    NOTHING = "nothing"


class Transport(Protocol):
    """Carries short texts on channels from whoever publishes to all who subscribe. A text may be lost, come twice, or
    come after a later one: it is a hint. `rolecall.testing.notifications` has the tests of one.
    """

    @property
    def name(self) -> str:
        """What it is called in logs: no secret in it."""

    @property
    def reach(self) -> Reach:
        """Whose notifications it brings."""

    def subscribe(self, channels: Collection[str]) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """Subscribe while the block lasts: what is published from its beginning on comes as (channel, payload).

        Entering it raises when the server is away, and iterating does when it went away, within seconds: a
        subscription never only falls silent. Whoever leaves the block has nothing left behind.
        """

    async def publish(self, channel: str, payload: str) -> None:
        """Say something to all who subscribe just now. Raises when the server is away."""

    async def close(self) -> None:
        """Let go of what it has; a second time, or before anything was opened, it does nothing."""


class Deaf(RolecallError):
    """Nothing is heard or said, for now."""


class DeafForGood(Deaf):
    """Nothing is heard, and nothing will be however often it is tried."""
