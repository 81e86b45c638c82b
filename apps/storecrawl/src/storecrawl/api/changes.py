"""The feed of changes over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rolecall.web import Connects, Limit, Reads, refuses
from storecrawl.catalog import ChangeFilter, ChangeKind, ChangePage, read_changes
from storecrawl.serving.parameters import QueryId
from storecrawl.serving.refusals import catalog_errors_as_problems

# Up to this number, JavaScript's numbers are exact.
LARGEST = 2**53 - 1

router = APIRouter(prefix="/api/changes", tags=["changes"])

Since = Annotated[
    int | None,
    Query(
        ge=0,
        le=LARGEST,
        description="The `next_since` of the previous page. Without it, the feed starts at the oldest kept change.",
    ),
]
Kinds = Annotated[list[ChangeKind] | None, Query(max_length=len(ChangeKind), description="Can be repeated.")]


@router.get("", responses=refuses(409, 410))
async def list_all(
    connects: Connects,
    _: Reads,
    since: Since = None,
    kind: Kinds = None,
    store_id: QueryId = None,
    limit: Limit = 50,
) -> ChangePage:
    """Return changes of prices, products and stores in the order of the feed, which neither skips nor repeats any.

    Continue with `next_since`, also after an empty page. `published` is the end of the whole feed.
    """
    criteria = ChangeFilter(since=since, kinds=kind, store_id=store_id, limit=limit)
    with catalog_errors_as_problems():
        async with connects() as connection:
            return await read_changes(connection, criteria)
