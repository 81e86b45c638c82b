"""A gather step takes the payload of its handler's first step; anything else is rejected at the declaration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from rolecall import App, Context, InvalidDeclaration, Redacted


@dataclass
class Store:
    name: str


async def first(ctx: Context, number: int, store: Store, full: bool = False) -> None: ...


async def same(ctx: Context, number: int, store: Store, full: bool = False) -> None: ...


async def in_another_order(full: bool, store: Store, number: int) -> None: ...


async def wider(number: float | None, store: Store, full: Any = False, more: str = "") -> None: ...


async def anything(ctx: Context, /, **payload: Any) -> None: ...


async def nothing(ctx: Context) -> None: ...


async def less(number: int, store: Store) -> None: ...


async def more(number: int, store: Store, day: str, full: bool = False) -> None: ...


async def other_type(number: str, store: Store, full: bool = False) -> None: ...


async def other_default(number: int, store: Store, full: bool = True) -> None: ...


async def hidden(number: int, token: Annotated[str, Redacted]) -> None: ...


async def shown(number: int, token: str) -> None: ...


def declare(function: Callable[..., Any], gather: Callable[..., Any], **options: Any) -> Any:
    return App("test").task("first", gather=gather, **options)(function)


@pytest.mark.parametrize("gather", [same, wider, anything])
def test_gather_step_that_accepts_every_payload_of_its_handler_is_accepted(gather: Callable[..., Any]) -> None:
    assert declare(first, gather).gather.function is gather


@pytest.mark.parametrize("gather", [nothing, less, more, other_type, other_default, in_another_order])
def test_gather_step_with_different_payload_fields_is_rejected(gather: Callable[..., Any]) -> None:
    with pytest.raises(
        InvalidDeclaration, match=r"handler 'first': its gather step takes \(.*\), the handler itself \(n"
    ):
        declare(first, gather)


def test_gather_step_of_a_handler_of_any_payload_accepts_any_payload() -> None:
    with pytest.raises(InvalidDeclaration, match="both steps get the same payload"):
        declare(anything, nothing)
    assert declare(anything, anything).gather is not None


def test_gather_step_that_ignores_unknown_fields_can_declare_fewer() -> None:
    assert declare(first, less, extra="ignore", key="{full}").gather.function is less


def test_gather_step_that_does_not_redact_its_handlers_redacted_fields_is_rejected() -> None:
    with pytest.raises(InvalidDeclaration, match="both steps get the same payload"):
        declare(hidden, shown)
