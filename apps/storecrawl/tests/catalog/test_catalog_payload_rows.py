"""The rows of crawl payloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from storecrawl.catalog import DifferentPayload, UnknownPayload, begin_fetch, find_payload, mark_expired, record_payload
from storecrawl.catalog.stored_files import needed_files, not_needed
from storecrawl.payloads import WrittenPayload

pytestmark = pytest.mark.asyncio

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
WRITTEN = WrittenPayload(
    path="store_1/0123.json.zst",
    size_raw=1_500_000,
    size_gz=150_000,
    sha256="ab" * 32,
)

NewStore = Callable[..., Awaitable[int]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]


async def _record(
    connection: psycopg.AsyncConnection,
    store: int,
    written: WrittenPayload = WRITTEN,
    at: datetime = AT,
    sequence: int | None = None,
) -> int:
    return await record_payload(
        connection, written, store_id=store, task_id=41, fetched_at=at, product_count=600, sequence=sequence
    )


async def test_row_contains_everything_needed_to_read_the_file(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    store = await new_store()
    payload = await find_payload(connection, await _record(connection, store))

    assert (payload.store_id, payload.task_id, payload.product_count) == (store, 41, 600)
    assert (payload.storage_path, payload.sha256) == (WRITTEN.path, WRITTEN.sha256)
    assert (payload.size_raw, payload.size_gz, payload.fetched_at) == (1_500_000, 150_000, AT)
    assert payload.applied_at is None


async def test_fetch_recorded_twice_has_one_row(
    connection: psycopg.AsyncConnection, new_store: NewStore, query: Query
) -> None:
    store = await new_store()

    assert await _record(connection, store, sequence=1) == await _record(connection, store, sequence=1)
    assert len(await query("select id from storecrawl.payloads")) == 1


async def test_fetch_has_one_document(connection: psycopg.AsyncConnection, new_store: NewStore) -> None:
    store = await new_store()
    await _record(connection, store, sequence=1)

    with pytest.raises(DifferentPayload):
        await _record(connection, store, replace(WRITTEN, sha256="cd" * 32), sequence=1)


async def test_recording_a_payload_updates_the_newest_fetch_of_the_store(
    connection: psycopg.AsyncConnection, new_store: NewStore, query: Query
) -> None:
    store = await new_store()
    early = await begin_fetch(connection, store)
    await _record(connection, store)
    await _record(connection, store, replace(WRITTEN, path="older"), AT + timedelta(hours=1), early.sequence)

    assert await query("select last_fetch_at from storecrawl.stores") == [{"last_fetch_at": AT}]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../x"])
async def test_path_outside_the_root_is_rejected(
    connection: psycopg.AsyncConnection, new_store: NewStore, path: str
) -> None:
    store = await new_store()

    with pytest.raises(psycopg.errors.CheckViolation):
        await _record(connection, store, replace(WRITTEN, path=path))


async def test_base_of_a_kept_file_is_needed(connection: psycopg.AsyncConnection, new_store: NewStore) -> None:
    store = await new_store()
    await _record(connection, store, replace(WRITTEN, base_path="base"))

    assert await needed_files(connection, [store]) == {WRITTEN.path, "base"}


async def test_file_is_needed_until_its_last_payload_expires(
    connection: psycopg.AsyncConnection, new_store: NewStore
) -> None:
    store = await new_store()
    first, second = [await _record(connection, store) for _ in range(2)]

    await mark_expired(connection, [first])
    assert await needed_files(connection, [store]) == {WRITTEN.path}
    await mark_expired(connection, [second])
    assert await needed_files(connection, [store]) == set()


async def test_file_that_no_row_needs_is_reported(connection: psycopg.AsyncConnection, new_store: NewStore) -> None:
    store = await new_store()
    stored, orphan = (f"store_{store}/{letter * 64}.json.zst" for letter in "ab")
    await _record(connection, store, replace(WRITTEN, path=stored))

    assert sorted(await not_needed(connection, [stored, orphan, "tmp.1"])) == [orphan, "tmp.1"]


async def test_unknown_payload_is_reported(connection: psycopg.AsyncConnection) -> None:
    with pytest.raises(UnknownPayload, match="no crawl payload 12"):
        await find_payload(connection, 12)
