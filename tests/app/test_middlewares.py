"""The middlewares of an app, and those that it requires."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from rolecall import App, InvalidDeclaration, Next
from rolecall.worker.runners import chain_middlewares


async def trace(ctx: Any, call_next: Next) -> object:
    return await call_next()


async def account(ctx: Any, call_next: Next) -> object:
    return await call_next()


class Limit:
    async def __call__(self, ctx: Any, call_next: Next) -> object:
        return await call_next()


def sliced(*middlewares: Any, own: Any = ()) -> App:
    app = App("slice", middlewares=middlewares)
    app.task("work", middlewares=own)(lambda: None)
    return app


def test_middlewares_of_a_handler_run_inside_those_of_its_app() -> None:
    app = sliced(trace, own=[account])

    assert app.middlewares_of("work") == (trace, account)


def test_later_middlewares_run_innermost_and_apply_to_earlier_handlers() -> None:
    app = sliced(trace)
    app.use(account)

    assert app.middlewares_of("work") == (trace, account)


def test_middlewares_of_a_slice_wrap_only_its_own_handlers() -> None:
    app = App("shop", middlewares=[trace])
    app.task("other")(lambda: None)
    app.include(sliced(account))

    assert app.middlewares_of("work") == (trace, account)
    assert app.middlewares_of("other") == (trace,)


def test_middlewares_of_a_slice_wrap_its_procedures_too() -> None:
    """Both executors."""
    slice_, app = App("books", middlewares=[account]), App("shop", middlewares=[trace], requires=[account])
    slice_.procedure("close_books", "accounts.close_books")
    app.include(slice_)

    assert app.middlewares_of("close_books") == (trace, account)


def test_handler_defined_by_no_app_has_the_apps_middlewares() -> None:
    assert App("shop", middlewares=[trace]).middlewares_of("a_procedure") == (trace,)


def test_handler_without_middlewares_is_called_directly() -> None:
    async def call(ctx: object) -> None: ...

    assert chain_middlewares(call, ()) is call


@pytest.mark.parametrize("middleware", [Limit(), partial(trace)])
def test_any_awaitable_callable_can_be_a_middleware(middleware: Any) -> None:
    App("shop").use(middleware)


@pytest.mark.parametrize("middleware", [lambda ctx, call_next: call_next(), Limit, None])
def test_sync_middleware_is_rejected(middleware: Any) -> None:
    with pytest.raises(InvalidDeclaration, match="is not a middleware: it must be async"):
        App("shop").use(middleware)
    with pytest.raises(InvalidDeclaration, match="is not a middleware"):
        App("shop").task("work", middlewares=[middleware])(lambda: None)


@pytest.mark.parametrize(
    "slice_", [sliced(trace, account), sliced(trace, own=[account]), sliced(trace, Limit(), account)]
)
def test_slice_with_the_required_middlewares_in_order_is_included(slice_: App) -> None:
    app = App("shop", requires=[trace, account])

    app.include(slice_)
    app.check()


@pytest.mark.parametrize("slice_", [sliced(), sliced(trace), sliced(account, trace)])
def test_slice_without_the_required_middlewares_or_their_order_is_rejected(slice_: App) -> None:
    app = App("shop", middlewares=[trace, account], requires=[trace, account])

    with pytest.raises(InvalidDeclaration, match="'work' lacks required middlewares: trace, account, in this order"):
        app.include(slice_)
    assert dict(app.handlers) == {}


def test_slice_must_also_have_the_middlewares_it_requires() -> None:
    inner = App("inner", requires=[trace])
    inner.task("work")(lambda: None)

    with pytest.raises(InvalidDeclaration, match="lacks required middlewares: trace"):
        App("shop").include(inner)


def test_handlers_of_an_app_are_checked_for_required_middlewares_at_the_end() -> None:
    app = App("shop", requires=[trace])
    app.task("work")(lambda: None)

    with pytest.raises(InvalidDeclaration, match="'work' lacks required middlewares: trace, .* it has none"):
        app.check()

    app.use(trace)
    app.check()
