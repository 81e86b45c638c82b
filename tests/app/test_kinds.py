"""Parameters and results follow the same rules: the types that a handler may declare, and how values are read."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest

from rolecall import (
    App,
    ContractBroken,
    Enqueued,
    InvalidDeclaration,
    InvalidPayload,
    ResultUnreadable,
    UnreadableResult,
    UnstoredResult,
)
from rolecall.app.signature import ResultType
from rolecall.model.operator.misfits import find_mismatch
from rolecall.sql.encoding import encode, encode_result, read_result
from tests.kinds import KINDS, REFUSED, Base, Derived, Rights, name_of


def handler_of(kind: Any) -> Any:
    async def keep(value: Any) -> Any: ...

    keep.__annotations__ = {"value": kind, "return": kind}
    return App("test").task(keep)


def returns(kind: Any) -> ResultType:
    found: ResultType = handler_of(kind).returns
    return found


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_result_is_returned_as_its_declared_type(kind: tuple[Any, ...]) -> None:
    declared, value, expected = (*kind, kind[1])[:3]
    result = returns(declared)

    stored, why = encode_result(result.write(value))
    found = result.read(read_result(stored))

    assert why is None
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_parameter_arrives_as_its_declared_type(kind: tuple[Any, ...]) -> None:
    declared, value, expected = (*kind, kind[1])[:3]
    handler = handler_of(declared)

    found = handler.decode(encode(handler.task(value=value).payload))["value"]

    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(("kind", "problem"), REFUSED, ids=[str(kind) for kind, _ in REFUSED])
@pytest.mark.parametrize("place", ["value", "return"])
def test_type_whose_values_cannot_be_stored_is_rejected_at_the_declaration(kind: Any, problem: str, place: str) -> None:
    async def keep(value: Any) -> Any: ...

    keep.__annotations__[place] = kind
    with pytest.raises(InvalidDeclaration) as refused:
        App("test").task(keep)

    assert problem in str(refused.value)


def test_subclass_is_stored_without_its_own_fields() -> None:
    assert returns(Base).write(Derived(1)) == {"number": 1}
    assert handler_of(Base).task(value=Derived(1)).payload == {"value": {"number": 1}}


COLLIDING = [
    (Any, {1: "one", "1": "another"}),
    (dict[str, Any], {"a": [{1: "one", "1": "another"}]}),
    (list[Any], [{0.5: 1, "0.5": 2}]),
]


@pytest.mark.parametrize(("kind", "value"), COLLIDING)
def test_keys_that_serialize_to_the_same_string_are_rejected(kind: Any, value: Any) -> None:
    handler = handler_of(kind)

    with pytest.raises(InvalidPayload, match="two keys of a dictionary become the same text"):
        handler.task(value=value)
    assert "two keys of a dictionary become the same text" in (encode_result(value).unstored or "")
    if kind == list[Any]:
        with pytest.raises(ContractBroken, match="cannot be stored: two keys of a dictionary become the same text"):
            handler.returns.write(value)


@pytest.mark.parametrize("value", [Base("text"), {"number": "text"}, None, [Base(1)]])  # type: ignore[arg-type]  # on purpose
def test_unreadable_value_is_rejected_when_it_is_written(value: Any) -> None:
    with pytest.raises(ContractBroken, match="Expected"):
        returns(Base).write(value)
    with pytest.raises(InvalidPayload, match="Expected"):
        handler_of(Base).task(value=value)


def test_result_of_another_release_raises_when_it_is_read() -> None:
    found = returns(Base).read({"count": 1})

    assert isinstance(found, UnreadableResult)
    assert (found.stored, found.handler) == ({"count": 1}, "keep")
    assert found.problem == "Object missing required field `number`"
    with pytest.raises(
        ResultUnreadable, match="the stored result of 'keep' does not fit its declared type: Object miss"
    ):
        found.number  # noqa: B018 - the use is what is tested
    assert "count" in repr(found)
    assert pickle.loads(pickle.dumps(copy.copy(found))).stored == {"count": 1}  # noqa: S301


def test_unstored_result_is_returned_unchanged() -> None:
    unstored = UnstoredResult("too large")

    assert returns(Base).read(unstored) is unstored


def test_task_is_pickled_without_its_result_type() -> None:
    task = handler_of(int).task(value=1)

    sent = pickle.loads(pickle.dumps(task))  # noqa: S301

    assert (sent, sent.returns) == (task, None)
    assert task.returns is not None


def test_enqueue_result_is_compared_and_pickled_without_its_result_type() -> None:
    stored = Enqueued(7).reading(returns(int))

    assert stored.returns is not None
    assert (stored, dataclasses.asdict(stored)) == (Enqueued(7), {"id": 7, "deduplicated": False})
    assert pickle.loads(pickle.dumps(stored)).returns is None  # noqa: S301


def test_schema_of_a_flag_allows_its_combinations() -> None:
    """The API validates payloads with it."""
    handler = handler_of(Rights)

    assert find_mismatch({"value": 3}, handler.signature.schema) is None
    assert json.loads(encode(handler.task(value=Rights.READ | Rights.WRITE).payload)) == {"value": 3}
