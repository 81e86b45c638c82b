"""The interface of notification transports, and the names of the channels."""

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

# The heartbeat of a relay. Its payload says whether notifications were missed.
BEAT_CHANNEL = "rolecall_beat"
BACK = "back"

Message = tuple[str, str]


class Reach(StrEnum):
    """Whose notifications a transport delivers.

    `all`: those of the database itself. `relayed`: those of the database, while a relay forwards them. `process`: those
    of clients in the same process, so that workers also poll. `nothing`: none.
    """

    ALL = "all"
    RELAYED = "relayed"
    PROCESS = "process"
    NOTHING = "nothing"


class Transport(Protocol):
    """Delivers short texts from publishers to all subscribers of a channel.

    A text is a hint: it may be lost, repeated or out of order. `rolecall.testing.notifications` contains the tests of a
    transport.
    """

    @property
    def name(self) -> str:
        """The name in logs, without secrets."""

    @property
    def reach(self) -> Reach:
        """Whose notifications it delivers."""

    def subscribe(self, channels: Collection[str]) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """Subscribe until the block ends. Yields (channel, payload) of everything published since it began.

        Entering raises if the server is unavailable, and iterating raises within seconds when the connection is lost. A
        subscription must not just become silent. Nothing remains after the block.
        """

    async def publish(self, channel: str, payload: str) -> None:
        """Publish to all current subscribers. Raises if the server is unavailable."""

    async def close(self) -> None:
        """Release all resources. Idempotent, also if nothing was opened."""


class NotificationsUnavailable(RolecallError):
    """Notifications are temporarily unavailable."""


class NotificationsUnsupported(NotificationsUnavailable):
    """Notifications are permanently unavailable, so that retrying is useless."""
