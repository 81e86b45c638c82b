"""How the workers of a database hear of work: what passes it on to them, and whether it does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rolecall.config import Settings
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.sql.statement import Statement
from rolecall.wake.choice import POSTGRES, choose
from rolecall.wake.listener import PostgresTransport
from rolecall.wake.relay import Relay
from rolecall.wake.transport import BEAT_CHANNEL, Deaf, Reach, Transport

NAME = "relay"
BEATS_WITHIN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationSettings:
    """How workers hear, as the setting says; `listen_dsn` is the way for LISTEN where that has its own."""

    notifications: str = field(default=POSTGRES, repr=False)
    listen_dsn: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: Settings) -> NotificationSettings:
        """Read it from the settings."""
        return cls(notifications=settings.notifications, listen_dsn=settings.database.listen_url)

    def transport(self, dsn: str) -> Transport:
        """Return what workers of this database hear by. Raises ConfigError where its packages are not installed."""
        return choose(self.notifications, _listening(dsn, self.listen_dsn))


def relay_of(dsn: str, settings: Settings) -> Relay | None:
    """Return what passes notifications on to the broker that the settings name; None where none is named.

    Raises ConfigError where the packages of the broker are not installed.
    """
    notifications = NotificationSettings.of(settings)
    target = notifications.transport(dsn)
    return Relay(_listening(dsn, notifications.listen_dsn), target) if target.reach is Reach.RELAYED else None


async def require_beat(transport: Transport, within: float = BEATS_WITHIN) -> None:
    """Wait for the beat of a relay. Raises Deaf, or what the transport raises where its server is away."""
    try:
        async with asyncio.timeout(within), transport.subscribe([BEAT_CHANNEL]) as heard:
            await anext(heard)
    except TimeoutError:
        raise Deaf("no relay passes anything on to it") from None


def _listening(dsn: str, listen_dsn: str | None) -> PostgresTransport:
    async def send(statement: Statement[None]) -> None:
        async with await connect_async(dsn, NAME) as speaker:
            await run_async(speaker, statement)

    return PostgresTransport(lambda: connect_async(listen_dsn or dsn, NAME), send)
