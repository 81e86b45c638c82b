"""Keys that a handler declares: checked against its signature when the app is made."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import msgspec
import pytest

from rolecall import App, InvalidDeclaration

Size = Annotated[int, msgspec.Meta(ge=1)]


class Platform(enum.Enum):
    BIG = "big"


class Named(msgspec.Struct, rename="camel"):
    store_id: int
    tags: list[str] = []


@dataclass
class Made:
    store_id: int
    moment: int = field(default_factory=lambda: 7)


class Loose(TypedDict):
    store_id: int | None


def declare(function: Callable[..., object], **words: object) -> dict[str, object]:
    """Define a handler of this function and return its declaration."""
    app = App("shop")
    app.task("fetch", **words)(function)  # type: ignore[call-overload]
    return app.declaration()[1][0]


def plain(store_id: int, platform: Platform, size: Size | None = None, mode: Literal["a", "b"] = "a") -> None: ...


def of_ids(tenant: UUID | None, day: date, name: str = "all", late: bool = False) -> None: ...


def odd(  # sizes: each is a rejected type
    stores: list[int], price: float, total: Decimal, at: datetime, either: int | list[int], day: date = date.min
) -> None: ...


def default_without_json(size: int = object()) -> None: ...  # type: ignore[assignment]


def in_batches(items: list[Named]) -> None: ...


def in_made_batches(items: list[Made]) -> None: ...


def in_loose_batches(items: list[Loose]) -> None: ...


def in_dict_batches(items: list[dict[str, Any]]) -> None: ...


def of_anything(**payload: Any) -> None: ...


@pytest.mark.parametrize("word", ["key", "dedupe_key"])
@pytest.mark.parametrize(
    ("function", "words", "template"),
    [
        (plain, {}, "constant"),
        (plain, {}, "store:{store_id}"),
        (plain, {}, "{platform}/{store_id}/{size}/{mode}"),
        (of_ids, {}, "{tenant} {day} {name} {late}"),
        (odd, {}, "{day}"),
        (in_batches, {"batch": 5}, "{storeId}"),
        (in_made_batches, {"batch": 5}, "{store_id}"),
        (in_loose_batches, {"batch": 5}, "{store_id}"),
        (in_dict_batches, {"batch": 5}, "{anything}"),
        (of_anything, {}, "{anything}"),
    ],
)
def test_handler_declares_templates_over_its_payload(
    function: Callable[..., object], words: dict[str, object], template: str, word: str
) -> None:
    assert declare(function, **words, **{word: template})[word] == template


def test_handler_without_a_template_declares_none() -> None:
    assert {"key", "dedupe_key"}.isdisjoint(declare(plain))


@pytest.mark.parametrize("word", ["key", "dedupe_key"])
@pytest.mark.parametrize(
    ("function", "words", "template", "why"),
    [
        (plain, {}, "", "is not a valid template"),
        (plain, {}, "x" * 201, "is not a valid template"),
        (plain, {}, "{", "is not a valid template"),
        (plain, {}, "store:{}", "is not a valid template"),
        (plain, {}, "{store:03}", "names 'store:03', which is not a field"),
        (plain, {}, "{shop}", "names 'shop', which is not a field of the payload (store_id, platform, size, mode)"),
        (odd, {}, "{stores}", "uses 'stores', which is not an int, str"),
        (odd, {}, "{price}", "which is not an int, str"),
        (odd, {}, "{total}", "which is not an int, str"),
        (odd, {}, "{at}", "which is not an int, str"),
        (odd, {}, "{either}", "which is not an int, str"),
        (default_without_json, {}, "{size}", "whose default is not a plain value"),
        (in_batches, {"batch": 5}, "{store_id}", "which is not a field of the payload (storeId, tags)"),
        (in_batches, {"batch": 5}, "{tags}", "which is not an int, str"),
        (in_made_batches, {"batch": 5}, "{moment}", "whose default is not a plain value"),
    ],
)
def test_template_that_payloads_cannot_fill_is_rejected(
    function: Callable[..., object], words: dict[str, object], template: str, why: str, word: str
) -> None:
    with pytest.raises(InvalidDeclaration) as refusal:
        declare(function, **words, **{word: template})

    assert str(refusal.value).startswith("handler 'fetch': ")
    assert f"{word}={template!r} " in str(refusal.value)
    assert why in str(refusal.value)
