"""A handler's signature as the schema of its payload, with annotations as strings, as many users have them."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from rolecall import App, InvalidDeclaration, InvalidPayload
from rolecall.model.operator.misfits import find_mismatch

if TYPE_CHECKING:
    from somewhere import Context  # type: ignore[import-not-found]  # must not be imported at run time


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Store(msgspec.Struct):
    id: int


class Row(TypedDict):
    n: int


class Tolerant(pydantic.BaseModel):
    n: int


def define(function: Callable[..., Any], **options: Any) -> Any:
    return App("test").task(None, **options)(function)


def run(definition: Any, payload: str) -> Any:
    return definition.call("ctx", definition.decode(payload))


def rich(  # sizes: one parameter for each kind of type
    number: int,
    *,
    when: datetime,
    who: UUID,
    price: Decimal,
    colour: Colour,
    point: Point,
    store: Store,
    note: str | None = None,
    tags: dict[int, str] | None = None,
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5,
) -> dict[str, Any]:
    return locals()


RICH = {
    "number": 1,
    "when": datetime(2026, 1, 1, tzinfo=UTC),
    "who": UUID(int=1),
    "price": Decimal("1.50"),
    "colour": Colour.RED,
    "point": Point(x=1),
    "store": Store(id=7),
}


def test_rich_types_round_trip_through_json() -> None:
    definition = define(rich)

    task = definition.task(**RICH, tags={1: "a"})

    assert run(definition, json.dumps(task.payload)) == RICH | {
        "note": None, "tags": {1: "a"}, "share": 0.5,
    }  # fmt: skip


def test_omitted_field_gets_the_functions_own_default() -> None:
    default: list[int] = []

    def handler(items: list[int] = default) -> list[int]:
        return items

    assert run(define(handler), "{}") is default


def test_explicit_none_does_not_become_the_default() -> None:
    def handler(note: str | None = "default") -> str | None:
        return note

    assert run(define(handler), '{"note": null}') is None


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({"number": "1"}, "Expected `int`, got `str` - at `$.number`"),
        ({}, "missing required field `number`"),
        ({"number": 1, "odd": 2}, "unknown field `odd`"),
        ({"number": None}, "got `null`"),
        ({"number": object()}, "object is unsupported"),
    ],
)
def test_invalid_payload_is_rejected_immediately(payload: dict[str, Any], problem: str) -> None:
    def handler(number: int) -> None: ...

    with pytest.raises(InvalidPayload, match="payload of 'handler'") as refused:
        define(handler).task(**payload)

    assert problem in str(refused.value)


class Tagged(msgspec.Struct, tag=True):
    n: int


class OtherTagged(msgspec.Struct, tag=True):
    text: str


class Pair(NamedTuple):
    first: Point
    second: Point


@dataclasses.dataclass
class Branch:
    leaf: int
    below: list[Branch] = dataclasses.field(default_factory=list)


NESTED: list[tuple[Any, Any, str]] = [
    (Point, {"x": 1, "z": 2}, "unknown field `z` - at `$.value`"),
    (Store, {"id": 1, "z": 2}, "unknown field `z` - at `$.value`"),
    (Row, {"n": 1, "z": 2}, "unknown field `z` - at `$.value`"),
    (Annotated[Point | None, msgspec.Meta(title="t")], {"x": 1, "z": 2}, "unknown field `z` - at `$.value`"),
    (list[Point], [{"x": 1}, {"x": 1, "z": 2}], "unknown field `z` - at `$.value[...]`"),
    (dict[str, Point], {"a": {"x": 1, "z": 2}}, "unknown field `z` - at `$.value[...]`"),
    (tuple[int, Point], [1, {"x": 1, "z": 2}], "unknown field `z` - at `$.value[1]`"),
    (Pair, [{"x": 1}, {"x": 1, "z": 2}], "unknown field `z` - at `$.value[1]`"),
    (Tagged | OtherTagged, {"type": "Tagged", "n": 1, "text": "a"}, "unknown field `text` - at `$.value`"),
    (Branch, {"leaf": 1, "below": [{"leaf": 2, "z": 2}]}, "unknown field `z` - at `$.value.below[...]`"),
]


@pytest.mark.parametrize(("shape", "value", "problem"), NESTED, ids=str)
def test_unknown_nested_field_is_rejected(shape: Any, value: Any, problem: str) -> None:
    definition = define(taking(shape))

    with pytest.raises(InvalidPayload) as at_enqueue:
        definition.task(value=value)
    with pytest.raises(InvalidPayload) as at_run:
        definition.decode(json.dumps({"value": value}))

    assert problem in str(at_enqueue.value)
    assert problem in str(at_run.value)


@pytest.mark.parametrize(("shape", "value"), [(shape, value) for shape, value, _ in NESTED], ids=str)
def test_schema_rejects_unknown_nested_fields_like_the_handler(shape: Any, value: Any) -> None:
    strict = define(taking(shape)).signature.schema
    lenient = define(taking(shape), extra="ignore").signature.schema

    assert find_mismatch({"value": value}, strict) is not None
    assert find_mismatch({"value": value}, lenient) is None


def test_schema_of_a_pydantic_model_follows_the_model() -> None:
    definition = define(taking(Tolerant))
    definition.task(value={"n": 1, "z": 2})

    assert find_mismatch({"value": {"n": 1, "z": 2}}, definition.signature.schema) is None


@pytest.mark.parametrize(("shape", "value"), [(shape, value) for shape, value, _ in NESTED], ids=str)
def test_unknown_nested_field_is_dropped_by_a_handler_that_ignores_them(shape: Any, value: Any) -> None:
    definition = define(taking(shape), extra="ignore")

    definition.task(value=value)
    definition.decode(json.dumps({"value": value}))


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (Tagged | OtherTagged, {"type": "Tagged", "n": 1}),
        (Branch, {"leaf": 1, "below": [{"leaf": 2}]}),
        (dict[str, Any], {"free": {"z": 1}}),
        (Point | None, None),
    ],
    ids=str,
)
def test_known_nested_fields_are_accepted(shape: Any, value: Any) -> None:
    definition = define(taking(shape))

    definition.decode(json.dumps(definition.task(value=value).payload))


def test_unknown_field_of_a_batch_item_is_rejected() -> None:
    def measure(points: list[Point]) -> None: ...

    with pytest.raises(InvalidPayload, match="unknown field `z`"):
        define(measure, batch=10).task(x=1, z=2)


def taking(shape: Any) -> Callable[..., None]:
    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = shape
    return handler


@pytest.mark.parametrize("payload", ['{"number": "1"}', "{}", '{"number": 1, "odd": 2}', "[]", "nonsense"])
def test_invalid_payload_is_rejected_when_the_task_runs(payload: str) -> None:
    def handler(number: int) -> None: ...

    with pytest.raises(InvalidPayload):
        define(handler).decode(payload)


def test_constraint_in_the_annotation_is_enforced() -> None:
    with pytest.raises(InvalidPayload, match=r"share"):
        define(rich).task(**RICH, share=2)


def test_context_comes_first_and_is_not_part_of_the_payload() -> None:
    def by_type(context: Context, number: int) -> Any:
        return context, number

    def by_name(ctx, number: int) -> Any:  # type: ignore[no-untyped-def]  # noqa: ANN001 - on purpose
        return ctx, number

    assert [run(define(each), '{"number": 1}') for each in (by_type, by_name)] == [("ctx", 1)] * 2
    assert define(by_type).takes_context


def test_field_can_be_called_context() -> None:
    def handler(context: str) -> str:
        return context

    assert run(define(handler), '{"context": "kitchen"}') == "kitchen"


def test_async_and_sync_handlers_are_distinguished() -> None:
    async def handler(number: int) -> int:
        return number

    assert define(handler).is_async
    assert asyncio.run(run(define(handler), '{"number": 1}')) == 1


def test_decorated_handler_has_its_inner_signature() -> None:
    def doubled(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> int:
            return 2 * function(*args, **kwargs)

        return wrapper

    @doubled
    def handler(number: int) -> int:
        return number

    assert run(define(handler), '{"number": 2}') == 4


def test_schema_is_plain_json_schema() -> None:
    def handler(number: int, note: str = "") -> None: ...

    schema = define(handler).signature.schema["$defs"]["handler"]

    assert schema["required"] == ["number"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"number", "note"}


@pytest.mark.parametrize("item", [Point, Store, Row])
def test_batch_handler_accepts_one_item_per_task(item: Any) -> None:
    def handler(items: list[Any]) -> int:
        return len(items)

    handler.__annotations__["items"] = list[item]
    definition = define(handler, batch=10)
    field = next(iter(definition.signature.schema["$defs"][item.__name__]["properties"]))

    decoded = [definition.decode(json.dumps({field: n})) for n in range(3)]

    assert definition.call_batch("ctx", decoded) == 3
    assert definition.task(**{field: 1}).payload == {field: 1}


def test_batch_handler_can_accept_the_context() -> None:
    def handler(ctx: Context, items: list[Point]) -> Any:
        return ctx, items

    assert define(handler, batch=2).call_batch("ctx", [Point(1)]) == ("ctx", [Point(1)])


def positional(number: int, /) -> None: ...
def starred(*numbers: int) -> None: ...
def beside(kind: str, **others: Any) -> None: ...
def slashless(ctx: Context, **payload: Any) -> None: ...
def odd_values(**locks: asyncio.Event) -> None: ...
def bare(number) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - on purpose
def unknown(number: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - on purpose
def strange(lock: asyncio.Event) -> None: ...
def generator(number: int) -> Any:
    yield number


@functools.singledispatch
def dispatched(number: int) -> None: ...
def by_position(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*values: Any) -> Any:
        return function(*values)

    return call


@by_position
def wrapped(number: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (positional, "number is positional-only"),
        (starred, r"\*numbers does not accept named values"),
        (beside, r"\*\*others takes the whole payload: declare each parameter by name, or only this one"),
        (slashless, r"write \(ctx, /, \*\*payload\), with the slash: a payload may have a field ctx"),
        (odd_values, "parameter locks: asyncio.locks.Event has no JSON schema"),
        (bare, "number has no type annotation"),
        (unknown, "'Nowhere' is not defined"),
        (strange, "parameter lock: asyncio.locks.Event has no JSON schema"),
        (generator, "is a generator"),
        (len, "not a function"),
        (dispatched, "singledispatch needs a positional value"),
        (wrapped, "cannot be called by name: got an unexpected keyword argument 'number'"),
    ],
)
def test_signature_without_a_schema_is_rejected_at_the_definition(function: Callable[..., Any], problem: str) -> None:
    with pytest.raises(InvalidDeclaration, match=problem):
        define(function)


@pytest.mark.parametrize(
    "payload", [{}, {"ctx": 1, "self": 2, "a b": [None], "payload": {"x": 1.5}}], ids=["none", "odd"]
)
def test_handler_of_any_payload_receives_the_whole_payload(payload: dict[str, Any]) -> None:
    """The names of its fields do not matter; one named `payload` stays inside."""

    def echo(ctx: Context, /, **payload: Any) -> Any:
        return ctx, payload

    definition = define(echo)

    assert definition.call("context", definition.decode(json.dumps(payload))) == ("context", payload)
    assert definition.task(**payload).payload == payload
    assert definition.signature.schema == {"type": "object"}


def test_field_called_payload_is_an_ordinary_field() -> None:
    """With two stars the parameter receives the whole payload, without them one field of it."""

    def work(payload: dict[str, Any]) -> Any:
        return payload

    definition = define(work)

    assert definition.call(None, definition.decode('{"payload": {"x": 1}}')) == {"x": 1}
    with pytest.raises(InvalidPayload, match="unknown field `x`"):
        definition.task(payload={}, x=1)


def untyped(**payload) -> Any:  # type: ignore[no-untyped-def]  # noqa: ANN003 - on purpose
    return payload


def objects(**payload: object) -> Any:
    return payload


@pytest.mark.parametrize("function", [untyped, objects])
def test_any_payload_can_be_declared_without_a_type_too(function: Callable[..., Any]) -> None:
    assert define(function).decode('{"x": [1]}') == {"x": [1]}


def test_values_of_any_payload_can_have_a_type() -> None:
    def add(**numbers: int) -> int:
        return sum(numbers.values())

    definition = define(add)

    assert definition.call(None, definition.decode('{"a": 1, "b": 2}')) == 3
    assert definition.signature.schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    with pytest.raises(InvalidPayload, match="`int`, got `str`"):
        definition.task(a="one")


def test_schema_contains_the_json_compatible_defaults() -> None:
    def handler(number: int, day: str = "today", point: Point = Point(1, 2), odd: Any = ...) -> None: ...  # noqa: B008 - as people write

    fields = define(handler).signature.schema["$defs"]["handler"]["properties"]

    result = {name: field["default"] for name, field in fields.items() if "default" in field}
    assert result == {"day": "today", "point": {"x": 1, "y": 2}}


def test_sync_wrapper_around_an_async_handler_is_rejected() -> None:
    async def inner(number: int) -> int:
        return number

    @functools.wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    with pytest.raises(InvalidDeclaration, match="make the wrapper async"):
        define(wrapper)


def numbers(items: list[int]) -> None: ...
def no_list(items: Point) -> None: ...
def two(items: list[Point], more: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"), [(numbers, "must be dataclasses"), (no_list, "list"), (two, "one parameter")]
)
def test_batch_handler_with_another_signature_is_rejected(function: Callable[..., Any], problem: str) -> None:
    with pytest.raises(InvalidDeclaration, match=problem):
        define(function, batch=5)


def test_empty_batch_is_rejected() -> None:
    def handler(items: list[Point]) -> None: ...

    with pytest.raises(InvalidDeclaration, match="at least 1"):
        define(handler, batch=0)


class Unknown:
    """Neither a dataclass nor anything else with a schema."""


def test_unsupported_parameter_type_is_rejected_with_an_alternative() -> None:
    app = App("test")

    with pytest.raises(InvalidDeclaration) as refused:

        @app.task
        def ship(order: list[Unknown]) -> None: ...

    assert "Unknown has no JSON schema: use a dataclass" in str(refused.value)
    assert "schema_hook" not in str(refused.value)


def test_unsupported_result_type_is_rejected_with_an_alternative() -> None:
    with pytest.raises(InvalidDeclaration, match=r"Unknown'` cannot be stored .*: use a dataclass"):

        @App("test").task
        def ship() -> Unknown:
            return Unknown()
