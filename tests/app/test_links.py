"""The contract of a handler about its neighbors, and its enforcement."""

from __future__ import annotations

import dataclasses
from types import EllipsisType
from typing import Any, TypedDict

import msgspec
import pytest

from rolecall import App, ContractBroken, HandlerMissing, InvalidDeclaration, InvalidPayload, NewTask
from rolecall.app.contracts import Contract


@dataclasses.dataclass
class Parcel:
    weight: int
    to: str


class Letter(TypedDict):
    to: str


@pytest.fixture
def app() -> App:
    app = App("post")

    @app.task
    def ship(weight: float, to: str | None) -> None: ...

    @app.task
    def send(to: str, urgent: bool = False) -> None: ...

    @app.task
    def price(store: int) -> int:
        return store

    return app


def contract(app: App, **links: Any) -> Contract:
    def subject() -> None: ...

    app.task("subject", **links)(subject)
    app.check()
    return app.contracts()["subject"]


def test_declared_continuation_is_accepted_by_name_and_by_handler(app: App) -> None:
    declared = contract(app, continues=["send", app.handlers["price"], "subject"])

    for task in (NewTask(handler="send", payload={"to": "you"}), app.handlers["price"].task(store=1)):
        declared.check_continuation(task)
    declared.check_continuation(NewTask(handler="subject"))


def test_undeclared_continuation_breaks_the_contract(app: App) -> None:
    with pytest.raises(ContractBroken, match="may not be continued by 'ship'; declared: 'price' or 'send'") as broken:
        contract(app, continues=["send", "price"]).check_continuation(NewTask(handler="ship"))

    assert (broken.value.code, broken.value.handler) == ("invalid_continuation", "subject")
    assert broken.value.details == {"continuation": "ship", "declared": ["price", "send"]}


def test_handler_without_continuations_ends_its_chain(app: App) -> None:
    ending = contract(app, continues=[])

    ending.check_continuation(None)
    with pytest.raises(ContractBroken, match="declared: nothing"):
        ending.check_continuation(NewTask(handler="send", payload={"to": "you"}))


def test_handler_that_must_continue_cannot_end_its_chain(app: App) -> None:
    with pytest.raises(ContractBroken, match="must continue its chain, but ended it; declared: 'send'") as broken:
        contract(app, continues=["send"], must_continue=True).check_continuation(None)

    assert broken.value.code == "invalid_continuation"


def test_handler_without_declared_links_can_continue_or_end(app: App) -> None:
    app.check()

    assert "send" not in app.contracts()


def test_continuation_payload_must_match_its_handler(app: App) -> None:
    with pytest.raises(InvalidPayload, match="payload of 'send'") as refused:
        contract(app, continues=["send"]).check_continuation(NewTask(handler="send", payload={"to": 7}))

    assert (refused.value.code, refused.value.handler) == ("invalid_input", "send")


def test_continuation_can_be_declared_by_its_payload_type(app: App) -> None:
    by_parcel = contract(app, continues=[Parcel])

    by_parcel.check_continuation(NewTask(handler="ship", payload={"weight": 3, "to": "you"}))
    with pytest.raises(ContractBroken, match="declared: 'ship'"):
        by_parcel.check_continuation(NewTask(handler="send", payload={"to": "you"}))


def test_every_handler_of_the_payload_type_can_be_a_continuation(app: App) -> None:

    @app.task("notify")
    def notify(to: str) -> None: ...

    allowed = contract(app, continues=[Letter, "price"]).continuations

    assert sorted(allowed or []) == ["notify", "price", "send"]


@pytest.mark.parametrize(
    "links", [{"continues": ["nobody"]}, {"needs": ["nobody"]}, {"needs": ["price", "nobody", ...]}]
)
def test_link_to_a_missing_handler_is_reported_when_the_app_is_checked(app: App, links: dict[str, Any]) -> None:
    with pytest.raises(
        HandlerMissing, match="'nobody' is declared here, but handler 'subject' refers to it"
    ) as missing:
        contract(app, **links)

    assert (missing.value.code, missing.value.handler) == ("unknown_handler", "nobody")


def test_handler_can_link_to_one_defined_later(app: App) -> None:
    app.task("first", continues=["second"])(lambda: None)
    app.task("second")(lambda: None)

    app.check()


def test_payload_type_without_a_handler_is_reported_when_the_app_is_checked(app: App) -> None:
    with pytest.raises(InvalidDeclaration, match="refers to Lost, which no handler of this app takes"):
        contract(app, continues=[msgspec.defstruct("Lost", [("where", str)])])


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ({"continues": [], "must_continue": True}, "must continue its chain, but continues="),
        ({"continues": [int]}, "<class 'int'> is neither a handler, nor a name"),
        ({"continues": [7]}, "7 is neither a handler"),
        ({"needs": [...]}, "repeats the handler before it"),
        ({"needs": ["price", ..., "send"]}, "Ellipsis is neither a handler"),
    ],
)
def test_unsatisfiable_links_are_rejected_at_the_definition(app: App, links: Any, problem: str) -> None:
    with pytest.raises(InvalidDeclaration, match=problem):
        app.task("subject", **links)(lambda: None)


def needing(given: list[str | None]) -> NewTask:
    return NewTask(handler="subject", needs=[NewTask(handler=name) if name else 7 for name in given])


@pytest.mark.parametrize(
    ("needs", "given"),
    [
        ([], []),
        (["price"], ["price"]),
        (["price"], [None]),
        (["price", Letter], ["price", "send"]),
        (["send", ...], []),
        (["price", "send", ...], ["price", "send", "send"]),
    ],
)
def test_needs_that_match_the_declaration_are_accepted(
    app: App, needs: list[str | type | EllipsisType], given: list[str | None]
) -> None:
    """Covers fixed slots and a rest slot."""
    contract(app, needs=needs).check_needs(needing(given))


@pytest.mark.parametrize(
    ("needs", "given", "problem"),
    [
        ([], ["price"], "needs 0 tasks, not 1"),
        (["price"], [], "needs 1 tasks, not 0"),
        (["price"], ["send"], "needs 'price' at position 0, not 'send'"),
        (["price", "send", ...], [], "needs at least 1 tasks, not 0"),
        (["price", "send", ...], ["price", "send", "price"], "needs 'send' at position 2, not 'price'"),
    ],
)
def test_needs_that_do_not_match_the_declaration_break_the_contract(
    app: App, needs: list[Any], given: list[str | None], problem: str
) -> None:
    with pytest.raises(ContractBroken, match=problem) as broken:
        contract(app, needs=needs).check_needs(needing(given))

    assert (broken.value.code, broken.value.details) == ("invalid_needs", {"needs": given})


def test_schedule_cannot_enqueue_a_non_entry_handler(app: App) -> None:
    app.task("last", entry=False)(lambda: None)
    app.schedule("nightly", "last", every=60)

    with pytest.raises(
        ContractBroken, match="cannot start a chain .* but schedule 'nightly' would start one"
    ) as broken:
        app.check()

    assert (broken.value.code, broken.value.handler) == ("not_entry_point", "last")


def test_procedure_can_be_a_continuation_by_name(app: App) -> None:
    app.procedure("close_books", "accounts.close_books")

    contract(app, continues=["close_books"]).check_continuation(NewTask(handler="close_books", payload={"any": 1}))
