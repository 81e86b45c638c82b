"""Types that a handler may declare, each with a value that type checkers accept and the value that comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic

from rolecall import register_codec

T = TypeVar("T")
CustomerId = NewType("CustomerId", int)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Size(StrEnum):
    BIG = "big"


class Rights(Flag):
    READ = 1
    WRITE = 2


class Mode(IntFlag):
    EXECUTE = 1
    CHANGE = 2


@dataclass
class Base:
    number: int


@dataclass
class Derived(Base):
    extra: str = "kept out"


@dataclass(frozen=True, slots=True)
class Tree:
    name: str
    branches: list[Tree] = field(default_factory=list)
    by_number: dict[int, date] = field(default_factory=dict)


@dataclass
class Box(Generic[T]):
    content: T


class Item(msgspec.Struct):
    name: str


class SoldItem(Item):
    price: int = 3


class StrictItem(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class StrictSoldItem(StrictItem):
    price: int = 3


class Renamed(msgspec.Struct, rename="camel", omit_defaults=True):
    first_name: str
    last_name: str = ""


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    tricks: list[str]


@attrs.frozen
class Customer:
    name: str


class Row(TypedDict):
    number: int
    note: NotRequired[str]


class Point(NamedTuple):
    x: int
    y: float


class Model(pydantic.BaseModel):
    number: int
    placed: datetime


class SubModel(Model):
    more: str = "kept out"


class StrictModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")
    when: date


class SubStrictModel(StrictModel):
    more: int = 1


class Text(str):
    __slots__ = ()


class Number(float):
    __slots__ = ()


class Moment(datetime):
    pass


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.cents == other.cents

    def __hash__(self) -> int:
        return hash(self.cents)

    def __repr__(self) -> str:
        return f"Money({self.cents})"


register_codec(Money, encode=lambda money: f"{money.cents} ct", decode=lambda text: Money(int(text.split()[0])))

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
ABROAD = datetime(2026, 11, 24, 12, 0, 0, 7, tzinfo=timezone(timedelta(hours=5, minutes=30)))
TODAY = date(2026, 11, 24)
SOME_ID = UUID(int=7)

# The type, a value, and the value that is read if it is another one.
KINDS: list[tuple[Any, ...]] = [
    (str, "ümläut"),
    (int, 2**60),
    (float, 0.1),
    (bool, True),
    (bytes, b"\0\xff"),
    (Decimal, Decimal("1.50")),
    (UUID, SOME_ID),
    (date, TODAY),
    (time, time(1, 2, 3)),
    (datetime, NOON),
    (datetime, ABROAD),
    (timedelta, timedelta(days=1, seconds=2)),
    (Colour, Colour.RED),
    (Level, Level.HIGH),
    (Size, Size.BIG),
    (Rights, Rights.READ | Rights.WRITE),
    (Mode, Mode.EXECUTE | Mode.CHANGE),
    (Literal["a", "b"], "b"),
    (CustomerId, CustomerId(7)),
    (Annotated[int, msgspec.Meta(ge=1)], 7),
    (Money, Money(3)),
    (list[datetime], [NOON]),
    (tuple[int, str], (1, "a")),
    (tuple[date, ...], (TODAY, TODAY)),
    (set[int], {1, 2}),
    (frozenset[UUID], frozenset({SOME_ID})),
    (Sequence[Decimal], [Decimal("1.0")]),
    (Mapping[str, date], {"a": TODAY}),
    (dict[str, Any], {"a": [1, None]}),
    (dict[str, list[Colour]], {"a": [Colour.BLUE]}),
    (dict[int, str], {1: "Ada"}),
    (dict[float, int], {0.5: 1}),
    (dict[UUID, int], {SOME_ID: 1}),
    (dict[date, int], {TODAY: 1}),
    (dict[datetime, int], {NOON: 1}),
    (dict[time, int], {time(1): 1}),
    (dict[timedelta, int], {timedelta(1): 1}),
    (dict[Decimal, int], {Decimal("1.5"): 1}),
    (dict[bytes, int], {b"\xff": 1}),
    (dict[Colour, int], {Colour.RED: 1}),
    (dict[Level, int], {Level.LOW: 1}),
    (dict[Size, int], {Size.BIG: 1}),
    (dict[Rights, int], {Rights.READ: 1}),
    (dict[Literal[1, 2], str], {2: "b"}),
    (dict[CustomerId, str], {CustomerId(7): "Ada"}),
    (dict[int | float, str], {1: "a", 0.5: "b"}),
    (dict[Money, int], {Money(3): 1}),
    (dict[int, dict[date, list[Base]]], {1: {TODAY: [Base(2)]}}),
    (int | None, 3),
    (date | None, TODAY),
    (int | str, "a"),
    (int | bool, True),
    (Base, Base(1)),
    (Tree, Tree("a", [Tree("b")], {1: TODAY})),
    (Box[date], Box(TODAY)),
    (list[Base], [Base(1)]),
    (Item, Item("a")),
    (Renamed, Renamed("Ada")),
    (Cat | Dog, Dog(["sit"])),
    (Customer, Customer("Ada")),
    (Row, {"number": 1}),
    (Point, Point(1, 2.5)),
    (Model, Model(number=1, placed=NOON)),
    (list[StrictModel], [StrictModel(when=TODAY)]),
    # Type checkers accept a value of a subclass: it is written as the type that is declared.
    (Base, Derived(1), Base(1)),
    (list[Base], [Derived(1), Base(2)], [Base(1), Base(2)]),
    (dict[str, Base | None], {"a": Derived(1)}, {"a": Base(1)}),
    (Box[Base], Box(Derived(1)), Box(Base(1))),
    (Item, SoldItem("a"), Item("a")),
    (StrictItem, StrictSoldItem("a"), StrictItem("a")),
    (Model, SubModel(number=1, placed=NOON), Model(number=1, placed=NOON)),
    (StrictModel, SubStrictModel(when=TODAY), StrictModel(when=TODAY)),
    (int, True, 1),
    (list[int], [True, 2], [1, 2]),
    (dict[int, str], {True: "a"}, {1: "a"}),
    (date, NOON, TODAY),
    (date | None, NOON, TODAY),
    (tuple[int, date], (True, NOON), (1, TODAY)),
    (Tree, Tree("a", [], {True: NOON}), Tree("a", [], {1: TODAY})),
    (Row, {"number": True}, {"number": 1}),
    (Point, Point(x=True, y=1), Point(1, 1.0)),
    (str, Text("a"), "a"),
    (float, Number(0.5), 0.5),
    (float, 3, 3.0),
    (datetime, Moment(2026, 11, 24, 12, tzinfo=UTC), NOON),
]

# Types of which no value, or not every value, can be stored so that it comes back.
REFUSED: list[tuple[Any, str]] = [
    (dict[tuple[int, int], str], "tuple is not allowed"),
    (dict[bool, str], "bool is not allowed"),
    (dict[str | None, str], "None is not allowed"),
    (dict[frozenset[int], str], "frozenset is not allowed"),
    (dict[str | int, str], "keys of str or int are ambiguous"),
    (list[dict[str | float, str]], "keys of str or float are ambiguous"),
    (dict[Literal["1", 1], str], "two of these have the same text form"),
    (dict[str, dict[tuple[str, str], int]], "tuple is not allowed"),
    (complex, "complex has no JSON schema"),
]


def name_of(kind: tuple[Any, ...]) -> str:
    """Name a kind in the output of a test."""
    return f"{getattr(kind[0], '__name__', kind[0])}-{kind[1]!r}"[:60]
