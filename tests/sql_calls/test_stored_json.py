from __future__ import annotations

import dataclasses
import enum
import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec
import pytest

from rolecall.sql.encoding import NotStorable, encode


class Colour(enum.Enum):
    RED = "red"


class Size(enum.StrEnum):
    BIG = "big"


@dataclasses.dataclass
class Point:
    x: int
    at: datetime


class Store(msgspec.Struct):
    name: str
    tags: dict[int, str]


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1, 1.5, "", "text", "ümläut \U0001f600", [], {}, [1, [2, {"a": None}]], 10**100],
)
def test_plain_json_is_returned_unchanged(value: object) -> None:
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, 2), [1, 2]),
        (Point(x=1, at=NOON), {"x": 1, "at": "2026-01-01T12:00:00Z"}),
        (Store(name="a", tags={1: "b"}), {"name": "a", "tags": {"1": "b"}}),
        (UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (Decimal("1.50"), "1.50"),
        (Colour.RED, "red"),
        ({"size": Size.BIG, Size.BIG: 1}, {"size": "big", "big": 1}),
        (MappingProxyType({"a": NOON}), {"a": "2026-01-01T12:00:00Z"}),
        ({7}, [7]),
        (b"xx", "eHg="),
    ],
)
def test_rich_values_become_plain_ones(value: object, plain: object) -> None:
    assert json.loads(encode(value)) == plain
    assert json.loads(encode({"in": [value]})) == {"in": [plain]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": math.nan}, "a is nan, which is not JSON"),
        ({"a": [1, -math.inf]}, "a[1] is -inf, which is not JSON"),
        ({"a": {"b": "x\0y"}}, "a.b contains a NUL character"),
        ({"a": {"b\0": 1}}, "the key 'b\\x00' contains a NUL character"),
        ({"a": "\ud800"}, "a contains half a surrogate pair"),
        ({"\udfff": 1}, "the key '\\udfff' contains half a surrogate pair"),
        ({"a": {True: 2}}, "a has the key True, which has no text form"),
        ({None: 2}, "the value has the key None, which has no text form"),
        ({(1, 2): 3}, "the value has the key (1, 2), which has no text form"),
        ({math.nan: 3}, "the value has the key nan, which has no text form"),
        (MappingProxyType({None: 2}), "the value has the key None, which has no text form"),
        ({"a": {1: "x", "1": "y"}}, "two keys of a dictionary become the same text, '1'"),
        (
            [{UUID(int=7): "x", str(UUID(int=7)): "y"}],
            f"two keys of a dictionary become the same text, '{UUID(int=7)}'",
        ),
        ({"a": object()}, "a has the type object, which has no JSON form"),
        ({"a": Point(x=1, at="\0")}, "a.at contains a NUL character"),  # type: ignore[arg-type]  # on purpose
        ("\0", "the value contains a NUL character"),
    ],
)
def test_unstorable_value_is_rejected_with_its_position(value: object, problem: str) -> None:
    with pytest.raises(NotStorable) as refused:
        encode(value)

    assert str(refused.value) == problem


def test_backslash_before_u0000_is_plain_text() -> None:
    assert json.loads(encode({"a": "\\u0000"})) == {"a": "\\u0000"}


def test_circular_list_is_rejected() -> None:
    ring: list[Any] = []
    ring.append(ring)

    with pytest.raises(NotStorable, match="nested too deeply"):
        encode(ring)


def test_too_deeply_nested_value_is_rejected() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(NotStorable, match="nested too deeply"):
        encode(deep)


def test_number_too_long_for_text_is_rejected() -> None:
    with pytest.raises(NotStorable):
        encode(10**5000)
