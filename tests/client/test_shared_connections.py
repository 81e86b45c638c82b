"""A shared connection is checked before use only if it could be broken."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from rolecall.db import pools
from tests.client.conftest import Face, Kind


@asynccontextmanager
async def lent(face: Face) -> AsyncIterator[Any]:
    """Return the connection that the client's next call will use."""
    lender = face.client._pools.connection()  # no public interface shows the messages to the server
    if face.kind == "async":
        async with lender as connection:
            yield connection
    else:
        with lender as connection:
            yield connection


async def messages_of_a_call(face: Face) -> list[str]:
    """Return the messages that a call sends to the server."""
    await face("counts")
    with tempfile.TemporaryFile() as file:
        async with lent(face) as connection:
            connection.pgconn.trace(file.fileno())
        await face("counts")
        async with lent(face) as connection:
            connection.pgconn.untrace()
        file.seek(0)
        lines = [line.split("\t") for line in file.read().decode().splitlines()]
    return [line[3] for line in lines if line[1] == "F" and line[3] in {"Query", "Sync"}]


async def test_recently_used_connection_is_not_checked(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CHECK_AFTER", 3600)

    assert len(await messages_of_a_call(face)) == 1


async def test_idle_connection_is_checked(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CHECK_AFTER", 0)

    assert len(await messages_of_a_call(face)) > 1


async def test_connection_just_closed_by_the_server_is_replaced_silently(
    kind: Kind, database: str, connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "CHECK_AFTER", 3600)
    face = Face(kind, database)
    async with lent(face) as ours:
        pid = ours.info.backend_pid
    connection.execute("select pg_terminate_backend(%s, 10000)", [pid])

    assert await face("counts") == []
    async with lent(face) as ours:
        assert ours.info.backend_pid != pid
    await face("close")
