"""The egress's part in the database: load routes, record reports about them, and reserve turns at hosts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import psycopg
from psycopg.rows import dict_row

from rolecall import ConfigError, DatabaseUnavailable
from storecrawl.egress.counters import RouteCounter
from storecrawl.egress.options import EgressOptions
from storecrawl.egress.routes import Route
from storecrawl.egress.sql import ROUTES

T = TypeVar("T")
Connection = psycopg.AsyncConnection[Any]

# A server crash may lose the last counts and turns, so that workers need not wait for the disk.
# Set in each transaction: poolers reject settings of a connection, or apply them to its next user.
SETTINGS = "set local synchronous_commit = off; set local lock_timeout = '5s'"
CONNECT_SECONDS = 5
ANSWER_SECONDS = 10.0
OLD_SCHEMA = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a route after a report: for how many seconds it is paused, and whether it was just blamed."""

    active: bool
    paused_for: float | None
    is_blamed: bool


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether the caller may probe a route; otherwise for how many seconds it is paused."""

    granted: bool
    paused_for: float | None


class Recorder:
    """A connection, opened when needed and reopened when lost, with one query at a time.

    Every method raises DatabaseUnavailable while the database does not respond.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def routes(self) -> list[Route]:
        """Return the active routes, by id. Raises ConfigError if the tables are missing."""
        try:
            rows = await self._query(_load)
        except OLD_SCHEMA as error:
            raise ConfigError(
                "its tables are missing or old: run `rolecall migrate --app storecrawl.app:app`", variable="database"
            ) from error
        return [msgspec.convert(row, Route) for row in rows]

    async def report(self, counters: Sequence[RouteCounter], options: EgressOptions) -> dict[int, Verdict]:
        """Add counts and pause the routes to blame; return the state of each route."""
        now = time.monotonic()
        forbidden = [{"route_id": each.route_id, "about": about} for each in counters for about in each.forbidden_about]
        parameters = {
            "counters": _json([counter.to_report(now) for counter in counters]),
            "ids": [each.route_id for each in counters],
            "recovered": [each.route_id for each in counters if each.recovered],
            "forbidden": _json(forbidden),
            "forbidden_limit": options.forbidden_limit,
            "pause": options.pause,
            "longest_pause": options.longest_pause,
        }
        return await self._query(lambda connection: _report(connection, parameters))

    async def probe(self, route_id: int, seconds: float) -> Probe | None:
        """Request to probe a paused route. If granted, others wait `seconds` more. None: no such route."""
        parameters = {"id": route_id, "pause": seconds}
        return await self._query(lambda connection: _probe(connection, parameters))

    async def take_turns(self, host: str, turns: int, gap: float) -> float:
        """Reserve turns at a host, `gap` seconds apart; return in how many seconds the first one is."""
        parameters = {"host": host, "seconds": turns * gap}
        return await self._query(lambda connection: _take_turns(connection, parameters))

    async def _query(self, operation: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._turn:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    connection = await self._connect()
                    async with connection.transaction():
                        await connection.execute(SETTINGS)
                        return await operation(connection)
            except OLD_SCHEMA:
                raise
            except (psycopg.Error, OSError, TimeoutError) as error:
                await self.close()
                raise DatabaseUnavailable(str(error) or type(error).__name__) from error

    async def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(
                self._dsn,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=CONNECT_SECONDS,
                application_name="storecrawl:egress",
            )
            await self._connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
        return self._connection


async def _load(connection: Connection) -> list[dict[str, Any]]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(ROUTES.load_routes)
        return await cursor.fetchall()


async def _report(connection: Connection, parameters: dict[str, Any]) -> dict[int, Verdict]:
    for query in (ROUTES.lock_routes, ROUTES.forget_forbidden, ROUTES.note_forbidden):
        await connection.execute(query, parameters)
    cursor = await connection.execute(ROUTES.report_uses, parameters)
    verdicts = {route_id: Verdict(*verdict) for route_id, *verdict in await cursor.fetchall()}
    if blamed := [route_id for route_id, verdict in verdicts.items() if verdict.is_blamed]:
        await connection.execute(ROUTES.pardon_stores, {"blamed": blamed})
    return verdicts


async def _probe(connection: Connection, parameters: dict[str, Any]) -> Probe | None:
    cursor = await connection.execute(ROUTES.probe_route, parameters)
    row = await cursor.fetchone()
    return None if row is None else Probe(*row)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def _take_turns(connection: Connection, parameters: dict[str, Any]) -> float:
    cursor = await connection.execute(ROUTES.take_turns, parameters)
    row = await cursor.fetchone()
    return 0.0 if row is None else max(0.0, float(row[0]))
