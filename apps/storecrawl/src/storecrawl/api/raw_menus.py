"""Raw menus over HTTP: the answers of each fetch as they came, those included of which no payload could be made."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Response

from rolecall.web import Connects, Limit, Page, PathId, Reads, page_by_id, position, refuses, with_items
from storecrawl.catalog import RawMenu, list_raw_menus
from storecrawl.serving.lookup import raw_menu_of
from storecrawl.serving.parameters import Cursor, QueryId
from storecrawl.serving.resources import HasResources, RawPageFacts, raw_page, raw_pages

router = APIRouter(prefix="/api/raw-menus", tags=["crawl payloads"])

OnlyRefused = Annotated[bool, Query(description="Only those of which no payload was made.")]
Index = Annotated[int, Path(ge=0, le=100_000)]
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes as they came", "content": {"application/octet-stream": {}}}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """What is known of a fetch's answers. Sizes are bytes, of all of them with what was asked; `sha256` is of that.

    Either `payload_id` names the crawl payload that was merged of them, or `problem` says why there is none. At
    `expired_at` the file was removed.
    """

    id: int
    store_id: int
    task_id: int | None
    payload_id: int | None
    problem: str | None
    page_count: int
    size_raw: int
    size_gz: int
    sha256: str
    fetched_at: datetime
    created_at: datetime
    expired_at: datetime | None

    @classmethod
    def of(cls, stored: RawMenu) -> Self:
        """Leave out where the file lies."""
        return cls(**{field.name: attrgetter(field.name)(stored) for field in fields(cls)})


@router.get("")
async def list_all(  # sizes: what the list is filtered by
    connects: Connects,
    _: Reads,
    store_id: QueryId = None,
    refused: OnlyRefused = False,  # noqa: FBT002 - a query has no positions
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[KeptAnswers]:
    """Raw menus, the newest fetch first."""
    before = position(cursor)
    async with connects() as connection:
        found = await list_raw_menus(connection, store_id=store_id, refused=refused, before=before, limit=limit + 1)
    return with_items(page_by_id(found, limit), KeptAnswers.of)


@router.get("/{raw_menu_id:int}", responses=refuses(404))
async def show(raw_menu_id: PathId, connects: Connects, _: Reads) -> KeptAnswers:
    """One raw menu."""
    return KeptAnswers.of(await raw_menu_of(connects, raw_menu_id))


@router.get("/{raw_menu_id:int}/pages", responses=refuses(404, 409, 410, 503))
async def pages(raw_menu_id: PathId, connects: Connects, resources: HasResources, _: Reads) -> list[RawPageFacts]:
    """The answers in it, in the order in which they came, without their bytes."""
    return await raw_pages(resources, await raw_menu_of(connects, raw_menu_id))


@router.get(
    "/{raw_menu_id:int}/pages/{index:int}",
    response_class=Response,
    responses=ANSWER | refuses(404, 409, 410, 503),
)
async def page(raw_menu_id: PathId, index: Index, connects: Connects, resources: HasResources, _: Reads) -> Response:
    """One answer, byte by byte as it came, as a download: it may be anything."""
    found = await raw_page(resources, await raw_menu_of(connects, raw_menu_id), index)
    headers = {
        "Content-Disposition": f'attachment; filename="raw-menu-{raw_menu_id}-{index}"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(found.body, media_type="application/octet-stream", headers=headers)
