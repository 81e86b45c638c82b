"""The changes between two crawl payloads of a store, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from rolecall.web import Connects, Id, PathId, Reads, refuses
from storecrawl.catalog import MenuDiff, StoredPayload, diff_payloads, payloads_to_compare
from storecrawl.serving.refusals import catalog_errors_as_problems
from storecrawl.serving.resources import HasResources

router = APIRouter(tags=["menus"])


class _Camel(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, from_attributes=True, serialize_by_alias=True
    )


class ComparedPayload(_Camel):
    """One side of a comparison; `product_count` counts the fetched document."""

    id: int
    fetched_at: datetime
    product_count: int


class DiffCounts(_Camel):
    """The number of changes of each kind."""

    added: int
    removed: int
    price_changes: int
    stock_changes: int


class DiffProduct(_Camel):
    """A product that only one of the two has."""

    external_id: str
    name: str


class DiffChange(DiffProduct):
    """A changed figure of one option; prices are in cents, null means absent."""

    option: str
    field: str
    before: int | bool | None
    after: int | bool | None


class DiffDetails(_Camel):
    """All changes, by external id."""

    added: list[DiffProduct]
    removed: list[DiffProduct]
    price_changes: list[DiffChange]
    stock_changes: list[DiffChange]


class DiffAnswer(_Camel):
    """The changes from the earlier payload's menu to the later one's."""

    success: Literal[True] = True
    earlier: ComparedPayload = Field(alias="from")
    later: ComparedPayload = Field(alias="to")
    diff: DiffCounts
    details: DiffDetails

    @classmethod
    def of(cls, earlier: StoredPayload, later: StoredPayload, diff: MenuDiff) -> Self:
        details = DiffDetails.model_validate(diff)
        counts = {kind: len(changes) for kind, changes in details}
        return cls.model_validate({"from": earlier, "to": later, "diff": counts, "details": details})


@router.get("/api/payloads/store/{store_id:int}/diff", responses=refuses(404, 409, 410, 503))
async def diff(
    store_id: PathId,
    connects: Connects,
    resources: HasResources,
    _: Reads,
    earlier: Annotated[Id | None, Query(alias="from")] = None,
    later: Annotated[Id | None, Query(alias="to")] = None,
) -> DiffAnswer:
    """Return the changes from one crawl payload (`from`) to another (`to`); by default between the latest two."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            pair = await payloads_to_compare(connection, store_id, earlier, later)
    before, after = [await resources.menu(payload) for payload in pair]
    return DiffAnswer.of(*pair, diff_payloads(before, after))
