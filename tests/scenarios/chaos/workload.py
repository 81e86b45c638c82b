"""The app that is put through the chaos: a handler for each thing that can go wrong."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from rolecall import App, BatchContext, Context, Snooze, linear
from rolecall.db.connect import async_pool
from tests.scenarios.chaos.ledger import Ledger, pay

ROLE = "chaos"
LEASE = 1.5
# Long enough to overlap with a zombie that returns: only the fence tells the two apart.
FIRST_SECONDS, AGAIN_SECONDS = 0.6, 2.5
LEAVES = 2
# The second of them leaves one more behind.
CHILDREN = 3

Fence = dict[str, int]


class Planned(Exception):
    """The error of a task that is to fail."""


class Sheep(msgspec.Struct):
    """One item of a batch; fails at its first so many attempts."""

    fails: int = 0


def make_app(dsn: str, slots: int) -> App:
    pool = async_pool(dsn, "ledger", max_size=slots + 1)
    ledger = Ledger(pool, os.getpid())

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with pool:
            yield

    app = App("chaos", lifespan=lifespan)
    app.role(ROLE, lease=LEASE, timeout=30, max_attempts=30, retry=linear(step=0.1, cap=0.5))
    _add_quick_handlers(app, ledger)
    _add_slow_handlers(app, ledger)
    _add_chained_handlers(app, ledger)
    _add_families(app, ledger)
    _add_wicked_handlers(app, ledger)
    return app


def _add_quick_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def note(ctx: Context, fails: int = 0) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        _fail(ctx, fails)
        return await _ended(ctx, ledger, run)

    @app.task(role=ROLE)
    async def settle(ctx: Context, fails: int = 0) -> None:
        run = await ledger.begin(ctx)
        async with ctx.transaction() as tx:
            await pay(tx, ctx, run)
            _fail(ctx, fails)
            await ctx.complete(tx, {"fence": ctx.fence})

    @app.task(role=ROLE, batch=8)
    async def herd(ctx: BatchContext, items: list[Sheep]) -> list[Fence | Planned]:
        runs = [await ledger.begin(each) for each in ctx.tasks]
        for each in ctx.tasks:
            await ledger.do(each)
        return [
            Planned("a sheep strays") if each.attempt <= item.fails else await _ended(each, ledger, run)
            for each, item, run in zip(ctx.tasks, items, runs, strict=True)
        ]

    @app.task(role=ROLE)
    async def tick(ctx: Context) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        return await _ended(ctx, ledger, run)


def _add_slow_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def linger(ctx: Context) -> None:
        run = await ledger.begin(ctx)
        await asyncio.sleep(_seconds(ctx))
        async with ctx.transaction() as tx:
            await pay(tx, ctx, run)
            await ctx.complete(tx, {"fence": ctx.fence})

    @app.task(role=ROLE)
    def grind(ctx: Context) -> Fence:
        run = ctx.wait(ledger.begin(ctx))
        time.sleep(_seconds(ctx))
        ctx.wait(ledger.do(ctx))
        return ctx.wait(_ended(ctx, ledger, run))


def _add_chained_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def leaf(ctx: Context) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        return await _ended(ctx, ledger, run)

    @app.task(role=ROLE)
    async def branch(ctx: Context) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        for _ in range(LEAVES):
            ctx.follow_up(leaf.task())
        return await _ended(ctx, ledger, run)

    @app.task(role=ROLE)
    async def doze(ctx: Context) -> Fence | Snooze:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        fence = await _ended(ctx, ledger, run)
        return Snooze(0.2) if ctx.fence < 3 else fence


def _add_families(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def child(ctx: Context, fails: int = 0, more: bool = False) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        _fail(ctx, fails)
        if more:
            ctx.spawn_sibling(child.task())
        return await _ended(ctx, ledger, run)

    async def reunion(ctx: Context, serial: bool = False) -> None:
        run = await ledger.begin(ctx)
        children = await ctx.children()
        async with ctx.transaction() as tx:
            await pay(tx, ctx, run)
            await ctx.complete(tx, {"fence": ctx.fence, "children": [each.id for each in children]})

    @app.task(role=ROLE, gather=reunion)
    async def family(ctx: Context, serial: bool = False) -> None:
        await ledger.end(await ledger.begin(ctx))
        ctx.spawn(*(child.task(fails=n % 2, more=n == 1) for n in range(CHILDREN)), serial=serial)

    @app.task(role=ROLE)
    async def heir(ctx: Context) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        return await _ended(ctx, ledger, run)

    @app.task(role=ROLE)
    async def saga(ctx: Context, left: int = 2) -> Fence:
        run = await ledger.begin(ctx)
        await ledger.do(ctx)
        if left:
            ctx.continue_with(saga.task(left=left - 1))
        return await _ended(ctx, ledger, run)


def _add_wicked_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE, max_attempts=2, timeout=1)
    async def hang(ctx: Context) -> None:
        await ledger.has_started(await ledger.begin(ctx))
        await asyncio.sleep(60)

    @app.task(role=ROLE, max_attempts=2)
    async def poison(ctx: Context, number: int) -> None:
        run = await ledger.begin(ctx)
        # A crash counts as an attempt only where the engine knows that the handler began.
        while not await ledger.has_started(run):
            if not await ledger.owns(run):
                return
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), number)


def _fail(ctx: Context, fails: int) -> None:
    ctx.check()
    if ctx.attempt <= fails:
        raise Planned(f"attempt {ctx.attempt} of {fails} that fail")


async def _ended(ctx: Context, ledger: Ledger, run: int) -> Fence:
    await ledger.end(run)
    return {"fence": ctx.fence}


def _seconds(ctx: Context) -> float:
    return FIRST_SECONDS if ctx.fence == 1 else AGAIN_SECONDS
