"""Changes of routes stand in Rolecall's audit log, in the transaction of the change; without any credential."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg

from storecrawl.deeds import Doer, record_deed
from storecrawl.egress.book import StoredRoute

__all__ = ["done_by"]

T = TypeVar("T")


async def done_by(
    doer: Doer,
    connection: psycopg.AsyncConnection[Any],
    action: str,
    change: Callable[[], Awaitable[T]],
    **detail: object,
) -> T:
    """Make a change on this connection and write down who made it, both or none."""
    async with connection.transaction():
        answer = await change()
        outcome = {"id": answer.id, "route": answer.label} if isinstance(answer, StoredRoute) else None
        await record_deed(connection, doer, action, detail, outcome)
    return answer
