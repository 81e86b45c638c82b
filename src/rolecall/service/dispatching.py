"""The dispatcher of one database, which hands tasks to workers by Redis, with its own connections."""

from __future__ import annotations

import secrets

from rolecall.config import Settings
from rolecall.db.connect import connect_async
from rolecall.handoff.connections import Connections
from rolecall.handoff.dispatcher import Dispatcher
from rolecall.transport.listener import PostgresTransport
from rolecall.worker.options import WorkerOptions
from rolecall.worker.session import DatabaseSessions

NAME = "dispatch"


def dispatcher_of(dsn: str, settings: Settings) -> Dispatcher | None:
    """Return the dispatcher for the Redis in the settings, or None.

    Raises ConfigError if Redis support is not installed, or the address is invalid.
    """
    if not settings.handoff.on:
        return None
    connections = Connections(settings.handoff, f"{NAME}-{secrets.token_hex(4)}")
    sessions = DatabaseSessions(dsn, deadline=WorkerOptions().call_deadline, pooled=settings.database.pooled)
    session = sessions.open(NAME)
    listen_dsn = settings.database.listen_url or dsn
    transport = PostgresTransport(lambda: connect_async(listen_dsn, NAME), session.run)
    return Dispatcher(connections, session, transport)
