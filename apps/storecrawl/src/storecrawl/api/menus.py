"""Queries of a store's current menu over HTTP. For queries over many stores, use SQL or DuckDB."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rolecall.web import Connects, PathId, Reads, refuses
from storecrawl.catalog.menus import aggregate_menu, query_menu
from storecrawl.catalog.normalize import Availability, Category, PotencyUnit
from storecrawl.serving.lookup import store_of

router = APIRouter(prefix="/api/payloads/store/{store_id:int}", tags=["menus"])

Label = Annotated[str | None, Field(max_length=200)]
Cents = Annotated[int | None, Field(ge=0, le=2**31 - 1)]
Percent = Annotated[float | None, Field(ge=0, le=100, allow_inf_nan=False)]


class PotencyRange(BaseModel):
    """A potency; a single figure is both ends, and the unit is null if the source gives none."""

    lo: float
    hi: float
    unit: PotencyUnit | None


class OptionWeight(BaseModel):
    """The weight of an option in g, mg or ml."""

    value: float
    unit: str


class MenuItem(BaseModel):
    """A product of the menu, or its requested fields; `id` is the platform's key.

    Prices are in cents: the lowest of the product's options, including specials. `price` is the recreational price,
    or the medical one if there is no other. `weight` is that of the option with this price.
    """

    id: str | None = None
    name: str | None = None
    brand: str | None = None
    category: Category | None = None
    subcategory: str | None = None
    strain_type: str | None = None
    price: int | None = None
    price_med: int | None = None
    price_rec: int | None = None
    thc: PotencyRange | None = None
    cbd: PotencyRange | None = None
    weight: OptionWeight | None = None
    status: Availability | None = None
    in_stock: bool | None = None
    image_url: str | None = None
    description: str | None = None


class MenuAnswer(BaseModel):
    """A page of the matching products; `total` counts all of them."""

    total: int
    limit: int
    offset: int
    items: list[MenuItem]


class MenuGroup(BaseModel):
    """Totals of the products of one brand or category; null for products without one.

    Prices are in cents, `avg_thc` is percent of weight; both only count products that have one.
    """

    group: str | None
    count: int
    avg_price: int | None
    min_price: int | None
    max_price: int | None
    avg_thc: float | None
    in_stock_count: int


class AggregateAnswer(BaseModel):
    """All groups of a menu, the largest first."""

    group_by: str
    items: list[MenuGroup]


def _fields(text: str | None) -> str | None:
    names = text.split(",") if text is not None else []
    if unknown := [name for name in names if name not in MenuItem.model_fields]:
        raise ValueError(f"no field named {unknown[0]!r}; known fields: {', '.join(MenuItem.model_fields)}")
    return text


class MenuQuery(BaseModel):
    """A query of a menu. Prices are in cents, THC is percent of weight, texts are compared case-insensitively."""

    model_config = ConfigDict(extra="forbid")

    brand: Label = None
    category: Category | None = None
    subcategory: Label = None
    strain_type: Label = None
    in_stock: bool | None = None
    price_min: Cents = None
    price_max: Cents = None
    thc_min: Percent = None
    thc_max: Percent = None
    search: Annotated[Label, Field(description="Matches name and brand.")] = None
    fields: Annotated[Label, AfterValidator(_fields), Field(description="Comma-separated names of fields.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    sort: Literal["name", "price", "thc", "brand"] = "name"
    order: Literal["asc", "desc"] = "asc"

    def page(self, rows: list[dict[str, Any]]) -> MenuAnswer:
        names = self.fields.split(",") if self.fields is not None else list(MenuItem.model_fields)
        shown = rows[self.offset : self.offset + self.limit]
        items = [MenuItem.model_validate({name: row[name] for name in names}) for row in shown]
        return MenuAnswer(total=len(rows), limit=self.limit, offset=self.offset, items=items)


@router.get("/query", response_model_exclude_unset=True, responses=refuses(404))
async def query(
    store_id: PathId, parameters: Annotated[MenuQuery, Query()], connects: Connects, _: Reads
) -> MenuAnswer:
    """Return the matching products of the store's current menu, in order."""
    await store_of(connects, store_id)
    async with connects() as connection:
        return parameters.page(await query_menu(connection, store_id, parameters.model_dump()))


@router.get("/aggregate", responses=refuses(404))
async def sum_up(
    store_id: PathId, connects: Connects, _: Reads, group_by: Literal["brand", "category"] = "brand"
) -> AggregateAnswer:
    """Return totals of the store's current menu, by brand or category."""
    await store_of(connects, store_id)
    async with connects() as connection:
        groups = await aggregate_menu(connection, store_id, group_by)
    return AggregateAnswer(group_by=group_by, items=[MenuGroup.model_validate(group) for group in groups])
