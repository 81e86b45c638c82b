"""An app that includes slices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from rolecall import App, Finding, InvalidDeclaration, Workplace

Lifespan = Callable[[], AbstractAsyncContextManager[None]]


def mail(lifespan: Lifespan | None = None) -> App:
    app = App("mail", lifespan=lifespan) if lifespan else App("mail")
    app.task("send", role="post")(lambda: None)
    app.role("post", max_attempts=7)
    app.keys("customer:*", capacity=2)
    app.schedule("nightly", "send", every=60)
    return app


def test_handlers_roles_keys_and_schedules_of_a_slice_belong_to_the_app() -> None:
    app, slice_ = App("shop"), mail()

    app.include(slice_)

    assert app.handlers["send"] is slice_.handlers["send"]
    assert app.roles["post"].max_attempts == 7
    assert app.key_capacities == {"customer:*": 2}
    assert set(app.schedules) == {"nightly"}


def test_nested_slices_are_included() -> None:
    middle, app = App("middle"), App("shop")
    middle.include(mail())
    app.include(middle)

    assert set(app.handlers) == {"send"}


@pytest.mark.parametrize(
    ("declare", "what"),
    [
        (lambda app: app.task("send")(lambda: None), "handler named 'send'"),
        (lambda app: app.role("post"), "role named 'post'"),
        (lambda app: app.keys("customer:*", capacity=3), r"capacity of keys named 'customer:\*'"),
        (lambda app: app.schedule("nightly", "elsewhere", every=60), "schedule named 'nightly'"),
    ],
)
def test_name_conflict_is_rejected_and_nothing_is_included(declare: Callable[[App], object], what: str) -> None:
    app = App("shop")
    declare(app)
    before = (dict(app.handlers), dict(app.schedules))

    with pytest.raises(InvalidDeclaration, match=f"already a {what}"):
        app.include(mail())

    assert (dict(app.handlers), dict(app.schedules)) == before


def test_role_declared_in_one_app_can_be_named_in_the_other() -> None:
    app = App("shop")
    app.task("receive", role="post")(lambda: None)

    app.include(mail())

    assert app.roles["post"].max_attempts == 7


@pytest.mark.parametrize(
    "declare",
    [
        lambda app: app.task("late")(lambda: None),
        lambda app: app.role("late"),
        lambda app: app.keys("late", capacity=2),
        lambda app: app.use(),
        lambda app: app.include(App("late")),
    ],
)
def test_included_slice_accepts_no_more_declarations(declare: Callable[[App], object]) -> None:
    slice_ = mail()
    App("shop").include(slice_)

    with pytest.raises(InvalidDeclaration, match="app 'shop' has already included this one"):
        declare(slice_)


def test_link_between_two_slices_is_resolved_when_both_are_included() -> None:
    first = App("first")
    first.task("start", continues=["send"])(lambda: None)
    app = App("shop")
    app.include(first)
    app.include(mail())

    app.check()


async def test_lifespans_are_entered_in_order_and_exited_in_reverse() -> None:
    result: list[str] = []

    def telling(name: str) -> Lifespan:
        @asynccontextmanager
        async def lifespan() -> AsyncIterator[None]:
            result.append(f"{name} in")
            yield
            result.append(f"{name} out")

        return lifespan

    app = App("shop", lifespan=telling("shop"))
    app.include(mail(telling("mail")))
    app.include(App("bank", lifespan=telling("bank")))

    async with app.lifespan(Workplace(dsn="")):
        result.append("work")

    assert result == ["shop in", "mail in", "bank in", "work", "bank out", "mail out", "shop out"]


async def test_lifespan_with_a_parameter_receives_its_workers_workplace() -> None:
    result: list[Workplace] = []

    @asynccontextmanager
    async def lifespan(workplace: Workplace) -> AsyncIterator[None]:
        result.append(workplace)
        yield

    here = Workplace(dsn="postgresql://me:hidden@127.0.0.1/x", roles=("mail",))
    async with App("shop", lifespan=lifespan).lifespan(here):
        assert result == [here]

    assert (here.serves_any("mail", "bank"), here.serves_any("bank")) == (True, False)
    assert Workplace(dsn="").serves_any("bank")
    assert "hidden" not in repr(here)


def test_checks_of_a_slice_run_with_the_apps_own() -> None:
    async def shelves(_: object) -> list[Finding]:
        return []

    app, part = App("shop", checks=[shelves]), App("part", checks=[shelves])
    app.include(part)

    assert [check.name for check in app.checks] == ["shop.shelves", "part.shelves"]
