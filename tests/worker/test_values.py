"""Values of payloads and results: the handler receives the enqueued value, as the annotated type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import attrs
import msgspec
import psycopg
import pydantic
import pytest

from rolecall import App, Client, InvalidDeclaration, InvalidPayload, TaskState, register_codec
from rolecall.testing import drain

Connection = psycopg.Connection[Any]


class Line(pydantic.BaseModel):
    name: str
    cents: int = pydantic.Field(ge=0)


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    number: int
    lines: list[Line]
    placed_at: datetime


@dataclass(frozen=True)
class Parcel:
    order: Order
    weight: Decimal


class Address(msgspec.Struct, frozen=True):
    street: str


@attrs.frozen
class Customer:
    name: str
    address: Address


class Page(TypedDict):
    number: int


class Point(NamedTuple):
    x: int
    y: int


class Colour(Enum):
    RED = "red"


class Money:
    def __init__(self, cents: int, currency: str) -> None:
        self.cents = cents
        self.currency = currency

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.cents, self.currency))

    @classmethod
    def parse(cls, text: str) -> Money:
        cents, currency = text.split()
        return cls(int(cents), currency)


register_codec(
    Money, encode=lambda money: f"{money.cents} {money.currency}", decode=Money.parse, schema={"type": "string"}
)

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
ORDER = Order(number=7, lines=[Line(name="tea", cents=300)], placed_at=AT)
ORDER_JSON = {"number": 7, "lines": [{"name": "tea", "cents": 300}], "placed_at": "2026-11-24T12:00:00Z"}

VALUES = [
    (Order, ORDER, ORDER_JSON),
    (list[Order], [ORDER], [ORDER_JSON]),
    (Order | None, ORDER, ORDER_JSON),
    (Parcel, Parcel(ORDER, Decimal("1.50")), {"order": ORDER_JSON, "weight": "1.50"}),
    (Customer, Customer("Ada", Address("High Street")), {"name": "Ada", "address": {"street": "High Street"}}),
    (Page, {"number": 3}, {"number": 3}),
    (Point, Point(1, 2), [1, 2]),
    (Colour, Colour.RED, "red"),
    (Decimal, Decimal("0.1"), "0.1"),
    (UUID, UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (date, date(2026, 11, 24), "2026-11-24"),
    (datetime, AT, "2026-11-24T12:00:00Z"),
    (timedelta, timedelta(seconds=90), "PT90S"),
    (dict[str, Money], {"price": Money(300, "EUR")}, {"price": "300 EUR"}),
]


@pytest.mark.parametrize(("kind", "value", "as_json"), VALUES, ids=[str(kind) for kind, *_ in VALUES])
async def test_value_and_result_round_trip_as_the_declared_type(
    kind: Any, value: Any, as_json: object, database: str, connection: Connection
) -> None:
    app, given = App("shop"), []

    async def keep(value: Any) -> Any:
        given.append(value)
        return value

    keep.__annotations__ = {"value": kind, "return": kind}
    handler = app.task(keep)
    with Client(database, app=app) as client:
        stored = client.enqueue(handler, value=value)
        await drain(app, database)
        task = client.wait(stored, timeout=30)
        plain = client.get(stored.id)

    assert (task.state, task.error) == (TaskState.COMPLETED, None)
    assert given == [value]
    assert task.payload == {"value": as_json}
    assert (task.result, plain.result) == (value, as_json)


@pytest.fixture
def app() -> App:
    app = App("shop")

    @app.task
    async def bill(order: Order) -> None: ...

    @app.task
    async def pay(money: Money) -> None: ...

    @app.task(batch=10)
    async def index(lines: list[Line]) -> list[int]:
        return [line.cents for line in lines]

    return app


def test_incompatible_model_is_rejected_with_the_problem_and_its_location(app: App, database: str) -> None:
    wrong = {"number": 7, "lines": [{"name": "tea", "cents": -1}], "placed_at": "2026-11-24T12:00:00Z"}

    with Client(database, app=app) as client, pytest.raises(InvalidPayload) as refused:
        client.enqueue("bill", {"order": wrong})

    assert "lines.0.cents: Input should be greater than or equal to 0" in str(refused.value)
    assert "`$.order`" in str(refused.value)


def test_model_error_contains_none_of_its_values(app: App, database: str) -> None:
    with Client(database, app=app) as client, pytest.raises(InvalidPayload) as refused:
        client.enqueue("bill", {"order": {"number": "4111111111111111"}})

    assert "4111" not in str(refused.value)


def test_value_that_a_codec_cannot_read_is_rejected(app: App, database: str) -> None:
    with Client(database, app=app) as client, pytest.raises(InvalidPayload, match="money"):
        client.enqueue("pay", {"money": "much"})


async def test_batch_items_can_be_models(app: App, database: str) -> None:
    with Client(database, app=app) as client:
        stored = client.enqueue("index", {"name": "tea", "cents": 300})
        await drain(app, database)

        assert client.get(stored).result == 300


def test_schema_of_a_model_is_that_of_the_handlers_payload(app: App) -> None:
    schema = app.handlers["bill"].signature.schema

    order = schema["$defs"]["bill"]["properties"]["order"]
    assert order["required"] == ["number", "lines", "placed_at"]
    assert order["properties"]["lines"]["items"] == {"$ref": "#/$defs/Order.Line"}
    assert schema["$defs"]["Order.Line"]["properties"]["cents"]["minimum"] == 0
    assert app.handlers["pay"].signature.fields["money"] == {"type": "string"}


def test_type_has_one_codec() -> None:
    with pytest.raises(InvalidDeclaration, match="Money already has a codec"):
        register_codec(Money, encode=str, decode=Money.parse)


@pytest.mark.parametrize("kind", [Order, Parcel, Address, Customer, Colour])
def test_type_with_a_built_in_json_form_cannot_have_a_codec(kind: type) -> None:
    with pytest.raises(InvalidDeclaration, match="already has a JSON form"):
        register_codec(kind, encode=str, decode=str)


class Unknown: ...


def test_unsupported_type_is_rejected_with_the_supported_ones(app: App) -> None:
    with pytest.raises(InvalidDeclaration, match=r"Unknown has no JSON schema: use .*rolecall.register_codec"):

        @app.task
        async def lose(value: Unknown) -> None: ...
