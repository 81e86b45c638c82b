"""Queries of the menu of a store's latest crawl payload, over HTTP; they read the document, not the products."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from rolecall.web import Connections, Connects, PathId, Reads, refuses
from storecrawl.catalog import StoredPayload, latest_payload
from storecrawl.catalog.menu_query import GroupBy, MenuQuery, MenuRow, SortBy, aggregate, rows_of, select
from storecrawl.catalog.normalize import Availability, Category, PotencyUnit
from storecrawl.serving.refusals import catalog_errors_as_problems
from storecrawl.serving.resources import HasResources, Resources

router = APIRouter(prefix="/api/payloads/store/{store_id:int}", tags=["menus"])

Figure = Annotated[Decimal, PlainSerializer(float, return_type=float)]


class _Answer(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class AskedPayload(_Answer):
    """The queried crawl payload."""

    id: int
    fetched_at: datetime
    product_count: int


class PotencyRange(_Answer):
    """A potency; a single figure is both ends, and the unit is null if the source gives none."""

    lo: Figure
    hi: Figure
    unit: PotencyUnit | None


class OptionWeight(_Answer):
    """The weight of an option in g, mg or ml."""

    value: Figure
    unit: str


class MenuEffect(_Answer):
    """A claimed effect of a product; the score is the platform's own."""

    name: str
    score: Figure | None


class MenuCompound(_Answer):
    """A cannabinoid or terpene."""

    name: str
    value: Figure | None
    unit: PotencyUnit | None


class MenuSpecial(_Answer):
    """A special that names a product, whether or not it lowers a price; `discount_type` is the unit of `discount`."""

    external_id: str | None
    name: str | None
    kind: str | None
    menu: str | None
    discount_type: str | None
    discount: Figure | None


class MenuMeasure(_Answer):
    """A measurement with one value, or one per option."""

    values: list[Figure]
    unit: str | None


class MenuDetails(_Answer):
    """A product's data that does not belong to an option."""

    effects: list[MenuEffect]
    cannabinoids: list[MenuCompound]
    terpenes: list[MenuCompound]
    specials: list[MenuSpecial]
    tags: list[str]
    net_weight: MenuMeasure | None
    volume: MenuMeasure | None


class MenuItem(_Answer):
    """A product of the menu, or its requested fields; `id` is the platform's key.

    Prices are in cents: the lowest of the product's options, including specials. `price` is the recreational price,
    or the medical one if there is no other. `weight` or `dose_mg` is that of the option with this price.
    `updated_at` is the platform's time of change.
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
    dose_mg: Figure | None = None
    rec_only: bool | None = None
    medical_only: bool | None = None
    status: Availability | None = None
    in_stock: bool | None = None
    image_url: str | None = None
    description: str | None = None
    updated_at: datetime | None = None
    details: MenuDetails | None = None


class MenuAnswer(_Answer):
    """A page of the matching products; `total` counts all of them."""

    payload: AskedPayload
    total: int
    limit: int
    offset: int
    items: list[MenuItem]


class GroupAnswer(_Answer):
    """Totals of the products of one brand or category; null for products without one.

    Prices are in cents, `avg_thc` is percent of weight; both only count products that have one.
    """

    group: str | None
    count: int
    avg_price: int | None
    min_price: int | None
    max_price: int | None
    avg_thc: Figure | None
    in_stock_count: int


class AggregateAnswer(_Answer):
    """All groups of a menu, the largest first."""

    payload: AskedPayload
    group_by: GroupBy
    items: list[GroupAnswer]


def _fields(text: str | None) -> str | None:
    names = text.split(",") if text is not None else []
    if unknown := [name for name in names if name not in MenuItem.model_fields]:
        raise ValueError(f"no field named {unknown[0]!r}; known fields: {', '.join(MenuItem.model_fields)}")
    return text


Label = Annotated[str | None, Field(max_length=200)]
Cents = Annotated[int | None, Field(ge=0, le=2**31 - 1)]
Percent = Annotated[Decimal | None, Field(ge=0, le=100)]


class MenuQueryParameters(BaseModel):
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
    sort: SortBy = SortBy.NAME
    order: Literal["asc", "desc"] = "asc"

    def to_query(self) -> MenuQuery:
        rules = self.model_dump(exclude={"fields", "limit", "offset", "order"})
        return MenuQuery(**rules, descending=self.order == "desc")

    def item(self, row: MenuRow) -> MenuItem:
        names = self.fields.split(",") if self.fields is not None else list(MenuItem.model_fields)
        return MenuItem.model_validate({name: getattr(row, name) for name in names})


@router.get("/query", response_model_exclude_unset=True, responses=refuses(404, 409, 410, 503))
async def query(
    store_id: PathId,
    parameters: Annotated[MenuQueryParameters, Query()],
    connects: Connects,
    resources: HasResources,
    _: Reads,
) -> MenuAnswer:
    """Return the matching products of the store's latest menu, in order."""
    payload, rows = await _latest_rows(store_id, connects, resources)
    matches = select(rows, parameters.to_query())
    return MenuAnswer(
        payload=AskedPayload.model_validate(payload),
        total=len(matches),
        limit=parameters.limit,
        offset=parameters.offset,
        items=[parameters.item(row) for row in matches[parameters.offset : parameters.offset + parameters.limit]],
    )


@router.get("/aggregate", responses=refuses(404, 409, 410, 503))
async def sum_up(
    store_id: PathId, connects: Connects, resources: HasResources, _: Reads, group_by: GroupBy = GroupBy.BRAND
) -> AggregateAnswer:
    """Return totals of the store's latest menu, by brand or category."""
    payload, rows = await _latest_rows(store_id, connects, resources)
    return AggregateAnswer(
        payload=AskedPayload.model_validate(payload),
        group_by=group_by,
        items=[GroupAnswer.model_validate(group) for group in aggregate(rows, group_by)],
    )


async def _latest_rows(
    store_id: int, connects: Connections, resources: Resources
) -> tuple[StoredPayload, list[MenuRow]]:
    with catalog_errors_as_problems():
        async with connects() as connection:
            payload = await latest_payload(connection, store_id)
    return payload, rows_of(await resources.menu(payload))
