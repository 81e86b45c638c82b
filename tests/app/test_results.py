"""A handler's return annotation as the schema of its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence  # noqa: F401 - named in annotations
from datetime import UTC, date, datetime  # noqa: F401 - named in annotations
from typing import Any, TypedDict

import msgspec
import pytest

from rolecall import App, Cancel, ContractBroken, InvalidDeclaration, Snooze  # noqa: F401 - named in annotations
from rolecall.app.contracts import Contract, contract_of


@dataclasses.dataclass
class Invoice:
    pages: int


class Row(TypedDict):
    n: int


def promise(annotation: str | None) -> Contract:
    def handler() -> Any: ...

    return contract(handler, annotation)


def write(promised: Contract, result: object) -> None:
    assert promised.returns is not None
    promised.returns.write(result)


def promise_in_batches(annotation: str) -> Contract:
    def handler(items: list[Row]) -> Any: ...

    return contract(handler, annotation, batch=2)


def contract(handler: Callable[..., Any], annotation: str | None, **options: Any) -> Contract:
    del handler.__annotations__["return"]
    if annotation is not None:
        handler.__annotations__["return"] = annotation
    definition: Any = App("test").task(None, **options)(handler)
    return contract_of(definition, {})


@pytest.mark.parametrize(
    ("annotation", "result"),
    [
        ("Invoice", Invoice(pages=1)),
        ("Invoice", {"pages": 1}),
        ("Row | Snooze | Cancel", {"n": 1}),
        ("dict[str, int]", {"a": 1}),
        ("list[date]", [datetime.now(UTC).date()]),
        ("int | None", None),
        ("int | None", 3),
        ("dict[str, Any]", {"a": {"b": object}}),
        ("dict[str, object] | None", {"a": {"b": 1}}),
        ("list[dict[str, object]]", [{"a": 1}]),
    ],
)
def test_result_of_the_declared_type_is_accepted(annotation: str, result: object) -> None:
    write(promise(annotation), result)


@pytest.mark.parametrize(
    ("annotation", "result", "problem"),
    [
        ("Invoice", {"pages": "1"}, "Expected `int`, got `str` - at `$.pages`"),
        ("Invoice", None, "Expected `object`, got `null`"),
        ("Row | Snooze | Cancel", {}, "missing required field `n`"),
        ("dict[str, int]", {"a": "x"}, "Expected `int`, got `str`"),
        ("int | None", "3", "Expected `int | null`, got `str`"),
        ("dict[str, Any]", [1], "Expected `object`, got `array`"),
    ],
)
def test_result_of_another_type_breaks_the_contract(annotation: str, result: object, problem: str) -> None:
    with pytest.raises(ContractBroken) as broken:
        write(promise(annotation), result)

    assert (broken.value.code, broken.value.handler) == ("invalid_output", "handler")
    assert problem in str(broken.value.details["problem"])
    assert problem in str(broken.value)


@pytest.mark.parametrize("annotation", [None, "None", "Any", "object", "Snooze | Cancel | None", "int | Any"])
def test_undeclared_result_is_never_checked(annotation: str | None) -> None:
    assert promise(annotation).is_empty


@pytest.mark.parametrize("annotation", ["Iterator[int]", "Nowhere", "Invoice | Row"])
def test_return_type_without_a_schema_is_rejected_at_the_definition(annotation: str) -> None:
    with pytest.raises(InvalidDeclaration, match=r"handler 'handler': `-> .*` cannot be stored") as refused:
        promise(annotation)

    assert annotation in str(refused.value)


@pytest.mark.parametrize(
    ("annotation", "result"), [("list[int | Snooze | ValueError]", 1), ("list[int] | None", None), ("Sequence[int]", 2)]
)
def test_list_annotation_of_a_batch_declares_its_items(annotation: str, result: object) -> None:
    promised = promise_in_batches(annotation)

    write(promised, result)
    with pytest.raises(ContractBroken, match="Expected `int"):
        write(promised, "one")


def test_payload_schema_does_not_contain_the_result_schema() -> None:
    def handler() -> Invoice:
        return Invoice(pages=1)

    definition: Any = App("test").task(handler)

    assert definition.signature.returns.shape is Invoice
    assert "Invoice" not in msgspec.json.encode(definition.signature.schema).decode()


@dataclasses.dataclass
class Receipt:
    total: int


def test_declared_result_type_is_resolved_at_the_declaration() -> None:
    """Otherwise the threads that check results would resolve it simultaneously, which crashes the process."""
    promise("Receipt")

    assert "__msgspec_cache__" in vars(Receipt)
