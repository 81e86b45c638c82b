"""Crawl payloads over HTTP: their metadata, their documents, and replays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Header, Response

from rolecall.web import (
    Connections,
    Connects,
    Limit,
    Operates,
    Page,
    PathId,
    Reads,
    agreed,
    page_by_id,
    position,
    refuses,
    with_items,
)
from storecrawl.api.documents import DocumentResponse, coding_for
from storecrawl.catalog import StoredPayload, latest_payload, list_payloads
from storecrawl.roles.payload_fetch import replay_task
from storecrawl.serving.lookup import payload_of, store_of
from storecrawl.serving.parameters import Cursor, QueryId
from storecrawl.serving.refusals import catalog_errors_as_problems
from storecrawl.serving.resources import HasResources

router = APIRouter(prefix="/api/payloads", tags=["crawl payloads"])

DOCUMENT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The document", "content": {"application/json": {"schema": {}}}}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A crawl payload's metadata. Sizes are in bytes; `sha256` is that of the decompressed document.

    `dispensary_id` is another name of `store_id`. `product_count` counts the fetched document, `applied_count` the
    usable products when it was first applied, and the refused ones were counted when it was last applied.
    `complete` is true if it contained the whole menu. The retention policy removed its file at `expired_at`.
    `raw_menu_id` identifies the merged responses.
    """

    id: int
    store_id: int
    dispensary_id: int
    task_id: int | None
    product_count: int
    size_raw: int
    size_gz: int
    sha256: str
    fetched_at: datetime
    created_at: datetime
    applied_at: datetime | None
    applied_count: int | None
    complete: bool | None
    refused_products: int | None
    refused_options: int | None
    expired_at: datetime | None
    raw_menu_id: int | None

    @classmethod
    def of(cls, stored: StoredPayload) -> Self:
        """Return a row without the location of its file."""
        facts = {field.name: getattr(stored, field.name) for field in fields(cls) if field.name != "dispensary_id"}
        return cls(**facts, dispensary_id=stored.store_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The task that applies a payload again, and whether it existed."""

    task_id: int
    deduplicated: bool


@router.get("")
async def list_all(
    connects: Connects,
    _: Reads,
    store_id: QueryId = None,
    dispensary_id: QueryId = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Payload]:
    """Return crawl payloads, the newest fetch first."""
    return await _page(connects, agreed("store_id", store_id, "dispensary_id", dispensary_id), cursor, limit)


@router.get("/{payload_id:int}", responses=refuses(404))
async def show(payload_id: PathId, connects: Connects, _: Reads) -> Payload:
    """Return a crawl payload."""
    return Payload.of(await payload_of(connects, payload_id))


@router.get("/{payload_id:int}/data", response_class=Response, responses=DOCUMENT | refuses(404, 409, 410, 503))
async def data(
    payload_id: PathId,
    connects: Connects,
    resources: HasResources,
    _: Reads,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Return the fetched document, verified against its checksum; as zstd or gzip for clients that accept it.

    410 if the file expired or is missing, 409 if it was modified, 503 while the storage is unavailable.
    """
    payload = await payload_of(connects, payload_id)
    return DocumentResponse(payload, await resources.open(payload), coding=coding_for(accept_encoding))


@router.post(
    "/{payload_id:int}/replay",
    status_code=201,
    responses={200: {"model": Replay, "description": "A replay of it was already enqueued"}, **refuses(404)},
)
async def replay(payload_id: PathId, connects: Connects, services: Operates, response: Response) -> Replay:
    """Enqueue the task that applies this payload again; it does not undo changes of newer payloads."""
    payload = await payload_of(connects, payload_id)
    stored = await services.tasks.enqueue(replay_task(payload.store_id, payload.id))
    response.status_code = 200 if stored.deduplicated else 201
    response.headers["Location"] = f"/api/tasks/{stored.id}"
    return Replay(task_id=stored.id, deduplicated=stored.deduplicated)


@router.get("/store/{store_id:int}", responses=refuses(404))
async def list_of_store(
    store_id: PathId, connects: Connects, _: Reads, cursor: Cursor = None, limit: Limit = 50
) -> Page[Payload]:
    """Return a store's crawl payloads, the newest fetch first."""
    await store_of(connects, store_id)
    return await _page(connects, store_id, cursor, limit)


@router.get("/store/{store_id:int}/latest", responses=refuses(404))
async def latest(store_id: PathId, connects: Connects, _: Reads) -> Payload:
    """Return the crawl payload of a store's newest fetch."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            return Payload.of(await latest_payload(connection, store_id))


async def _page(connects: Connections, store_id: int | None, cursor: str | None, limit: int) -> Page[Payload]:
    before = position(cursor)
    async with connects() as connection:
        stored = await list_payloads(connection, store_id=store_id, before=before, limit=limit + 1)
    return with_items(page_by_id(stored, limit), Payload.of)
