"""Handlers that accept any payload, in every kind of execution."""

from __future__ import annotations

from typing import Any

import pytest

from rolecall import App, Context, NewTask
from tests.worker import crunching
from tests.worker.bench import Bench

ODD = {"ctx": 1, "payload": {"x": None}, "two words": [1.5, "a"], "self": True}


def as_async(app: App) -> None:
    @app.task
    async def echo(ctx: Context, /, **payload: Any) -> dict[str, Any]:
        return payload


def in_a_thread(app: App) -> None:
    @app.task
    def echo(**payload: Any) -> dict[str, Any]:
        return payload


def in_a_process(app: App) -> None:
    app.task(process=True)(crunching.echo)


def in_batches(app: App) -> None:
    @app.task(batch=2)
    async def echo(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return payloads


def after_its_children(app: App) -> None:
    async def gathered(ctx: Context, /, **payload: Any) -> dict[str, Any]:
        return payload

    @app.task
    async def leaf(ctx: Context) -> None: ...

    @app.task(gather=gathered)
    async def echo(ctx: Context, /, **payload: Any) -> None:
        ctx.spawn(leaf.task())


@pytest.mark.parametrize("define", [as_async, in_a_thread, in_a_process, in_batches, after_its_children])
async def test_any_payload_reaches_the_handler_unchanged(bench: Bench, define: Any) -> None:
    """It is enqueued by a client without the app, which knows only a name and an object."""
    define(bench.app)
    nothing, odd = bench.enqueue(NewTask(handler="echo"), NewTask(handler="echo", payload=ODD))

    async with bench.working():
        tasks = await bench.finished(nothing, odd)

    assert [task.result for task in tasks] == [{}, ODD]


async def test_handler_with_any_payload_can_continue_a_chain(bench: Bench) -> None:
    """The contract checks the continuation against the signature of its handler."""

    @bench.app.task(entry=False)
    async def fallback(ctx: Context, /, **payload: Any) -> dict[str, Any]:
        return payload

    @bench.app.task(continues=["fallback"])
    async def begin(ctx: Context) -> None:
        ctx.continue_with(fallback.task(kind="unknown", size=7))

    [first] = bench.enqueue(begin.task())

    async with bench.working():
        [task] = await bench.finished(first)
        [last] = await bench.finished(first + 1)

    assert (task.state, last.result) == ("completed", {"kind": "unknown", "size": 7})
