"""The audit log, for programs that change something of their own: the row stands in the transaction of the change.

    async with audit.change_async(connection, actor, "routes.disable", route_id=7) as outcome:
        outcome["route"] = await disable(connection, 7)

In a request the actor is `services.audit.actor`, at a terminal `terminal_actor()`.
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
    """A transaction that ends with the row about it: both or none; its outcome is what the block puts there."""
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
    """Write down who did what, such as `routes.disable`, and what came of it; of what is long, only how much it is."""
    run(connection, audit.record(actor, AuditEvent(action, detail or {}), outcome))


async def record_async(
    connection: psycopg.AsyncConnection[Any],
    actor: Actor,
    action: str,
    detail: Mapping[str, object] | None = None,
    outcome: object = None,
) -> None:
    """Write down who did what, such as `routes.disable`, and what came of it; of what is long, only how much it is."""
    await run_async(connection, audit.record(actor, AuditEvent(action, detail or {}), outcome))


def terminal_actor() -> Actor:
    """Whom the system runs this for, and who has logged in there; what the environment says proves nothing."""
    from pwd import getpwuid  # noqa: PLC0415 - Windows has none, where programs write to the log, too

    try:
        user = getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"user {os.getuid()}"  # a container may run as one that has no name
    try:
        login = os.getlogin()
    except OSError:
        login = user  # nobody has logged in: a service, a container
    return Actor(name=user if login == user else f"{user} (logged in as {login})", via="cli")
