"""The dispatcher of one database, with connections of its own: what hands tasks to workers by Redis."""

from __future__ import annotations

import secrets

from rolecall.config import Settings
from rolecall.db.connect import connect_async
from rolecall.handoff.connections import Connections
from rolecall.handoff.dispatcher import Dispatcher
from rolecall.wake.listener import PostgresTransport
from rolecall.worker.options import WorkerOptions
from rolecall.worker.session import DatabaseSessions

NAME = "dispatch"


def dispatcher_of(dsn: str, settings: Settings) -> Dispatcher | None:
    """Return what hands tasks over by the Redis that the settings name; None where none is named.

    Raises ConfigError where the packages of Redis are not installed, and for an address that is none.
    """
    if not settings.handoff.on:
        return None
    connections = Connections(settings.handoff, f"{NAME}-{secrets.token_hex(4)}")
    sessions = DatabaseSessions(dsn, deadline=WorkerOptions().call_deadline, pooled=settings.database.pooled)
    session = sessions.open(NAME)
    listen_dsn = settings.database.listen_url or dsn
    transport = PostgresTransport(lambda: connect_async(listen_dsn, NAME), session.run)
    return Dispatcher(connections, session, transport)
