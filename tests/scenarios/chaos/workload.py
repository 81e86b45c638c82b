"""The app of the soak: a handler for each thing that can go wrong, in two releases."""

from __future__ import annotations

import asyncio
import time
from functools import cache

import msgspec

from rolecall import App, BatchContext, Context, ProcessContext, Snooze, linear
from tests.scenarios.chaos import in_line, severed, steady, wicked
from tests.scenarios.chaos.ledger import Ledger, own_ledger, pay

ROLE = "chaos"
LEASE = 1.5
# Long enough to overlap with a worker that resumes after its lease: only the fence tells the two apart.
FIRST_SECONDS, AGAIN_SECONDS = 0.6, 2.5
LEAVES = 2
# The second leaves one more child.
CHILDREN = 3
# The expiry of a brief task.
BRIEF_SECONDS = 1.0
VERSIONS = (1, 2)
VERSION = "CHAOS_VERSION"

Fence = dict[str, int]


class Planned(Exception):
    """The error of a task that must fail."""


class Sheep(msgspec.Struct):
    """One item of a batch. Fails at its first `fails` attempts."""

    fails: int = 0


def make_app(version: int = 1) -> App:
    """Make the app of a release. The second release has one more optional field."""
    ledger = own_ledger()
    app = App("chaos")
    again = linear(step=0.1, cap=0.5)
    app.role(ROLE, lease=LEASE, timeout=30, max_attempts=30, retry=again)
    app.role(steady.ROLE, lease=steady.LEASE, timeout=60, max_attempts=30, retry=again)
    _add_quick_handlers(app, ledger)
    _add_slow_handlers(app, ledger)
    _add_chained_handlers(app, ledger)
    _add_families(app, ledger)
    _add_merged_handlers(app, ledger)
    _add_changed_handlers(app, ledger, version)
    wicked.add_handlers(app, ROLE, ledger)
    in_line.add_handlers(app, ROLE, ledger)
    steady.add_handlers(app, ledger)
    severed.add_handlers(app, ledger)
    return app


def crunch(ctx: ProcessContext) -> Fence:
    """Run in a child process, which takes as long to start as a worker."""
    ledger = _ledger_of_process()
    return _ended(ctx, ledger, ledger.begin(ctx))


@cache
def _ledger_of_process() -> Ledger:
    return own_ledger()


def _add_quick_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def note(ctx: Context, fails: int = 0, seconds: float = 0.005) -> Fence:
        run = ledger.begin(ctx)
        await asyncio.sleep(seconds)
        _fail(ctx, fails)
        return _ended(ctx, ledger, run)

    @app.task(role=ROLE)
    async def settle(ctx: Context, fails: int = 0) -> None:
        run = ledger.begin(ctx)
        async with ctx.transaction() as tx:
            await pay(tx, ctx)
            _fail(ctx, fails)
            ledger.end(run)
            await ctx.complete(tx, {"fence": ctx.fence})

    @app.task(role=ROLE, batch=8)
    async def herd(ctx: BatchContext, items: list[Sheep]) -> list[Fence | Planned]:
        runs = [ledger.begin(each) for each in ctx.tasks]
        await asyncio.sleep(0.01)
        return [
            Planned("a sheep strays") if each.attempt <= item.fails else _ended(each, ledger, run)
            for each, item, run in zip(ctx.tasks, items, runs, strict=True)
        ]

    @app.task(role=ROLE)
    async def asked(ctx: Context, name: str, of: int) -> Fence:
        """Run one of the tasks that one HTTP request enqueued."""
        return _ended(ctx, ledger, ledger.begin(ctx))

    @app.task(role=ROLE, expires=BRIEF_SECONDS)
    async def brief(ctx: Context) -> Fence:
        return _ended(ctx, ledger, ledger.begin(ctx))

    @app.task(role=ROLE)
    async def tick(ctx: Context) -> Fence:
        return _ended(ctx, ledger, ledger.begin(ctx))


def _add_slow_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def linger(ctx: Context) -> None:
        run = ledger.begin(ctx)
        await asyncio.sleep(_seconds(ctx))
        async with ctx.transaction() as tx:
            await pay(tx, ctx)
            ledger.end(run)
            await ctx.complete(tx, {"fence": ctx.fence})

    app.task(role=ROLE, process=True)(crunch)

    @app.task(role=ROLE)
    def grind(ctx: Context) -> Fence:
        run = ledger.begin(ctx)
        time.sleep(_seconds(ctx))
        return _ended(ctx, ledger, run)


def _add_chained_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def leaf(ctx: Context) -> Fence:
        return _ended(ctx, ledger, ledger.begin(ctx))

    @app.task(role=ROLE)
    async def branch(ctx: Context) -> Fence:
        run = ledger.begin(ctx)
        for _ in range(LEAVES):
            ctx.follow_up(leaf.task())
        return _ended(ctx, ledger, run)

    @app.task(role=ROLE)
    async def doze(ctx: Context) -> Fence | Snooze:
        fence = _ended(ctx, ledger, ledger.begin(ctx))
        return Snooze(0.2) if ctx.fence < 3 else fence


def _add_families(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def child(ctx: Context, fails: int = 0, more: bool = False) -> Fence:
        run = ledger.begin(ctx)
        _fail(ctx, fails)
        if more:
            ctx.spawn_sibling(child.task())
        return _ended(ctx, ledger, run)

    async def reunion(ctx: Context, serial: bool = False) -> None:
        run = ledger.begin(ctx)
        children = await ctx.children()
        async with ctx.transaction() as tx:
            await pay(tx, ctx)
            ledger.end(run)
            await ctx.complete(tx, {"fence": ctx.fence, "children": [each.id for each in children]})

    @app.task(role=ROLE, gather=reunion)
    async def family(ctx: Context, serial: bool = False) -> None:
        ledger.end(ledger.begin(ctx))
        ctx.spawn(*(child.task(fails=n % 2, more=n == 1) for n in range(CHILDREN)), serial=serial)

    @app.task(role=ROLE)
    async def heir(ctx: Context) -> Fence:
        return _ended(ctx, ledger, ledger.begin(ctx))

    @app.task(role=ROLE)
    async def saga(ctx: Context, left: int = 2) -> Fence:
        run = ledger.begin(ctx)
        if left:
            ctx.continue_with(saga.task(left=left - 1))
        return _ended(ctx, ledger, run)


def _add_merged_handlers(app: App, ledger: Ledger) -> None:
    @app.task(role=ROLE)
    async def gather(ctx: Context, numbers: list[int]) -> Fence:
        """Run a task into which several may have been merged."""
        return _ended(ctx, ledger, ledger.begin(ctx))

    @app.task(role=ROLE)
    async def latest(ctx: Context, number: int) -> Fence:
        """Run a task that may have replaced earlier ones."""
        return _ended(ctx, ledger, ledger.begin(ctx))


def _add_changed_handlers(app: App, ledger: Ledger, version: int) -> None:
    async def older(ctx: Context, number: int) -> Fence:
        return _ended(ctx, ledger, ledger.begin(ctx))

    async def newer(ctx: Context, number: int, remark: str | None = None) -> Fence:
        return _ended(ctx, ledger, ledger.begin(ctx))

    app.task(role=ROLE, name="changed")(older if version == 1 else newer)


def _fail(ctx: Context, fails: int) -> None:
    ctx.check()
    if ctx.attempt <= fails:
        raise Planned(f"attempt {ctx.attempt} of {fails} that fail")


def _ended(ctx: Context | ProcessContext, ledger: Ledger, run: str) -> Fence:
    ledger.end(run)
    return {"fence": ctx.fence}


def _seconds(ctx: Context) -> float:
    return FIRST_SECONDS if ctx.fence == 1 else AGAIN_SECONDS
