"""How workers are notified: the transport, and whether it works."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rolecall.config import Settings
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.sql.statement import Statement
from rolecall.transport.choice import POSTGRES, choose
from rolecall.transport.listener import PostgresTransport
from rolecall.transport.relay import Relay
from rolecall.transport.transport import BEAT_CHANNEL, NotificationsUnavailable, Reach, Transport

NAME = "relay"
BEATS_WITHIN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSettings:
    """The settings of the transport; `listen_dsn` is a separate connection for LISTEN."""

    notifications: str = field(default=POSTGRES, repr=False)
    listen_dsn: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: Settings) -> NotificationSettings:
        return cls(notifications=settings.notifications, listen_dsn=settings.database.listen_url)

    def transport(self, dsn: str) -> Transport:
        """Return the transport for a database. Raises ConfigError if its packages are not installed."""
        return choose(self.notifications, _listen(dsn, self.listen_dsn))


def relay_of(dsn: str, settings: Settings) -> Relay | None:
    """Return the relay for the broker in the settings, or None if no broker is set.

    Raises ConfigError if the broker's packages are not installed.
    """
    notifications = NotificationSettings.of(settings)
    target = notifications.transport(dsn)
    return Relay(_listen(dsn, notifications.listen_dsn), target) if target.reach is Reach.RELAYED else None


async def require_beat(transport: Transport, within: float = BEATS_WITHIN) -> None:
    """Wait for the beat of a relay. Raises NotificationsUnavailable, or the error of a transport without a server."""
    try:
        async with asyncio.timeout(within), transport.subscribe([BEAT_CHANNEL]) as heard:
            await anext(heard)
    except TimeoutError:
        raise NotificationsUnavailable("no relay forwards notifications to it") from None


def _listen(dsn: str, listen_dsn: str | None) -> PostgresTransport:
    async def send(statement: Statement[None]) -> None:
        async with await connect_async(dsn, NAME) as speaker:
            await run_async(speaker, statement)

    return PostgresTransport(lambda: connect_async(listen_dsn or dsn, NAME), send)
