"""The audit log, for programs that record their own changes. The entry is part of the change's transaction.

    async with audit.change_async(connection, actor, "routes.disable", route_id=7) as outcome:
        outcome["route"] = await disable(connection, 7)

In a request, the actor is `services.audit.actor`; in a terminal, `terminal_actor()`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from rolecall.db.run import run, run_async
from rolecall.model.audit import Actor, AuditEvent
from rolecall.sql import audit

__all__ = ["Actor", "change_async", "record", "record_async", "terminal_actor"]


@asynccontextmanager
async def change_async(
    connection: psycopg.AsyncConnection[Any], actor: Actor, action: str, /, **detail: object
) -> AsyncIterator[dict[str, object]]:
    """Open a transaction that ends with an audit entry: both commit, or neither. The block fills in its outcome."""
    outcome: dict[str, object] = {}
    async with connection.transaction():
        yield outcome
        await record_async(connection, actor, action, detail, outcome or None)


def record(
    connection: psycopg.Connection[Any],
    actor: Actor,
    action: str,
    detail: Mapping[str, object] | None = None,
    outcome: object = None,
) -> None:
    """Store an audit entry: an action such as `routes.disable`, its details and outcome. Long values are shortened."""
    run(connection, audit.record(actor, AuditEvent(action, detail or {}), outcome))


async def record_async(
    connection: psycopg.AsyncConnection[Any],
    actor: Actor,
    action: str,
    detail: Mapping[str, object] | None = None,
    outcome: object = None,
) -> None:
    """Store an audit entry like `record`, on an async connection."""
    await run_async(connection, audit.record(actor, AuditEvent(action, detail or {}), outcome))


def terminal_actor() -> Actor:
    """Return the user of this process, and who logged in there. Environment variables are not trusted."""
    from pwd import getpwuid  # noqa: PLC0415 - not available on Windows

    try:
        user = getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"user {os.getuid()}"  # a container may run as a user without a name
    try:
        login = os.getlogin()
    except OSError:
        login = user  # no login: a service, a container
    return Actor(name=user if login == user else f"{user} (logged in as {login})", via="cli")
