"""Raw menus over HTTP: the unchanged responses of each fetch, including those without a payload."""

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

OnlyRefused = Annotated[bool, Query(description="Only raw menus without a payload.")]
Index = Annotated[int, Path(ge=0, le=100_000)]
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "The unchanged bytes", "content": {"application/octet-stream": {}}}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """A raw menu's metadata. Sizes are in bytes, of all responses with their requests; `sha256` is of the same.

    `payload_id` identifies the crawl payload merged from them; otherwise `problem` is the reason why there is none.
    The file was removed at `expired_at`.
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
        """Return a row without the location of its file."""
        return cls(**{field.name: attrgetter(field.name)(stored) for field in fields(cls)})


@router.get("")
async def list_all(  # sizes: the filters of the list
    connects: Connects,
    _: Reads,
    store_id: QueryId = None,
    refused: OnlyRefused = False,  # noqa: FBT002 - a query has no positions
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[KeptAnswers]:
    """Return raw menus, the newest fetch first."""
    before = position(cursor)
    async with connects() as connection:
        found = await list_raw_menus(connection, store_id=store_id, refused=refused, before=before, limit=limit + 1)
    return with_items(page_by_id(found, limit), KeptAnswers.of)


@router.get("/{raw_menu_id:int}", responses=refuses(404))
async def show(raw_menu_id: PathId, connects: Connects, _: Reads) -> KeptAnswers:
    """Return a raw menu."""
    return KeptAnswers.of(await raw_menu_of(connects, raw_menu_id))


@router.get("/{raw_menu_id:int}/pages", responses=refuses(404, 409, 410, 503))
async def pages(raw_menu_id: PathId, connects: Connects, resources: HasResources, _: Reads) -> list[RawPageFacts]:
    """Return its responses in the order of their arrival, without their bytes."""
    return await raw_pages(resources, await raw_menu_of(connects, raw_menu_id))


@router.get(
    "/{raw_menu_id:int}/pages/{index:int}",
    response_class=Response,
    responses=ANSWER | refuses(404, 409, 410, 503),
)
async def page(raw_menu_id: PathId, index: Index, connects: Connects, resources: HasResources, _: Reads) -> Response:
    """Return one response unchanged, as a download, since it can be anything."""
    found = await raw_page(resources, await raw_menu_of(connects, raw_menu_id), index)
    headers = {
        "Content-Disposition": f'attachment; filename="raw-menu-{raw_menu_id}-{index}"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(found.body, media_type="application/octet-stream", headers=headers)
