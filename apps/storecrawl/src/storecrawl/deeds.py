"""Who changes something of the crawler's own, and the line of Rolecall's audit log that says so."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pwd import getpwuid
from typing import Any

import msgspec
import psycopg

__all__ = ["Doer", "deed", "record_deed"]

Connection = psycopg.AsyncConnection[Any]
RECORD = "select rolecall.record_deed(%s::text, %s::text, %s::text, %s::text, %s::jsonb, %s::jsonb)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doer:
    """Who changes something: a name, the shell (cli, api, dashboard), and the network address where there is one."""

    name: str
    via: str
    origin: str | None = None

    @classmethod
    def at_the_terminal(cls) -> Doer:
        """Whoever this process belongs to, whatever the environment says."""
        try:
            name = getpwuid(os.getuid()).pw_name
        except KeyError:
            name = f"user {os.getuid()}"  # a container may run as one that has no name
        return cls(name=name, via="cli")


async def record_deed(connection: Connection, doer: Doer, action: str, detail: object, outcome: object = None) -> None:
    """Write down what was done, in the transaction of the change."""
    texts = [msgspec.json.encode(value).decode() for value in (detail, outcome)]
    await connection.execute(RECORD, (doer.name, doer.via, doer.origin, action, *texts))


@asynccontextmanager
async def deed(connection: Connection, doer: Doer, action: str, **detail: object) -> AsyncIterator[dict[str, object]]:
    """A transaction that ends with the line about it: both or none; its outcome is what the block puts there."""
    outcome: dict[str, object] = {}
    async with connection.transaction():
        yield outcome
        await record_deed(connection, doer, action, detail, outcome or None)
