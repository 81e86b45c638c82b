"""Handlers called as functions with a fake context that records and validates their calls."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from rolecall import (
    AlreadyCompleted,
    App,
    BatchContext,
    Cancel,
    Child,
    ConfigError,
    Context,
    ContractBroken,
    HandlerAborted,
    HandlerError,
    InvalidPayload,
    InvalidTask,
    LostReason,
    Next,
    ProcessContext,
    Snooze,
    TaskState,
)
from rolecall.testing import FakeContext, perform, perform_batch, perform_sync

AsyncConnection = psycopg.AsyncConnection[Any]
app = App("shop")


@app.task
async def send(order: int) -> None: ...


@app.task(role="money", max_attempts=3, timeout=60)
async def bill(ctx: Context, order: int, to: UUID | None = None) -> str:
    await ctx.info({"order": order})
    if ctx.attempt > 1:
        await ctx.info({"again": ctx.last_error})
    ctx.follow_up(send.task(order=order))
    ctx.after_commit(print)
    return f"billed {order}"


@app.task
def count(ctx: Context, days: int) -> int:
    for day in range(days):
        ctx.check()
        ctx.wait(ctx.info({"day": day}))
    return days


@app.task
async def write(ctx: Context, note: str) -> None:
    async with ctx.transaction() as tx:
        await tx.execute("insert into ledger values (%s)", [note])
        ctx.after_commit(print)
        await ctx.complete(tx, {"note": note})
        if note == "":
            raise ValueError("empty")


async def together(ctx: Context, day: str) -> list[object]:
    return [child.result for child in await ctx.children(send)]


@app.task(gather=together)
async def report(ctx: Context, day: str) -> None:
    ctx.spawn(send.task(order=1), send.task(order=2))


@app.task(process=True)
def render(ctx: ProcessContext, pages: int) -> str:
    return f"{pages} pages, attempt {ctx.attempt}, planned for {ctx.scheduled_for:%Y-%m-%d}"


@app.task(batch=10)
def index(ctx: BatchContext, items: list[dict[str, int]]) -> list[int | Cancel]:
    for each in ctx.tasks:
        ctx.tasks[0].wait(each.info({"of": len(items)}))
    return [Cancel("odd") if item["id"] % 2 else item["id"] for item in items]


async def test_handler_calls_on_the_context_are_recorded() -> None:
    ctx = FakeContext(bill)

    assert await bill(ctx, order=7) == "billed 7"

    assert ctx.facts == {"order": 7}
    assert ctx.follow_ups == [send.task(order=7)]
    assert ctx.calls == [print]
    assert (ctx.continuation, ctx.spawned, ctx.siblings, ctx.completed) == (None, [], [], False)


async def test_attempt_is_set_by_the_test_and_the_rest_by_the_handler() -> None:
    ctx = FakeContext(bill, attempt=2, last_error="over a stone", key="customer:7", task_id=42)

    await bill(ctx, order=7)

    assert ctx.facts == {"order": 7, "again": "over a stone"}
    assert (ctx.handler, ctx.role, ctx.max_attempts, ctx.key) == ("bill", "money", 3, "customer:7")
    assert (ctx.task_id, ctx.chain_id, ctx.idempotency_key("mail")) == (42, 42, "42:0:mail")


async def test_performed_handler_receives_its_payload_as_read_from_the_database() -> None:
    seen: list[object] = []
    own = App("own")

    @own.task
    async def look(who: UUID) -> None:
        seen.append(who)

    await perform(look, who=UUID(int=7))

    assert seen == [UUID(int=7)]
    with pytest.raises(InvalidPayload, match="Expected `int`"):
        await perform(bill, order="seven")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidPayload, match="ordr"):
        await perform(bill, ordr=7)  # type: ignore[call-arg]  # on purpose


def test_sync_code_can_perform_async_and_plain_handlers() -> None:
    ctx = FakeContext(count)

    assert perform_sync(bill, order=7) == "billed 7"
    assert perform_sync(ctx, days=3) == 3
    assert ctx.facts == {"day": 2}


def test_plain_handler_can_be_called_without_a_loop() -> None:
    ctx = FakeContext(count)

    assert count(ctx, days=2) == 2
    assert ctx.facts == {"day": 1}


async def test_plain_handler_can_be_called_within_a_loop() -> None:
    ctx = FakeContext(count)

    assert count(ctx, days=2) == 2
    assert await perform(ctx, days=1) == 1


async def test_middlewares_of_handler_and_app_wrap_the_call() -> None:
    own = App("own")
    order: list[str] = []

    async def around(ctx: Any, call_next: Next) -> object:
        order.append(ctx.handler)
        return await call_next()

    own.use(around)

    @own.task(middlewares=[around])
    async def inner() -> str:
        return "done"

    assert await perform(FakeContext(inner, app=own)) == "done"
    assert order == ["inner", "inner"]
    await perform(inner)
    assert len(order) == 3


async def test_undeclared_or_unawaited_result_fails() -> None:
    own = App("own")

    @own.task
    async def lie() -> int:
        return "seven"  # type: ignore[return-value]  # on purpose

    @own.task
    async def forget() -> Any:
        return asyncio.sleep(0)

    with pytest.raises(ContractBroken, match="result of 'lie'"):
        await perform(lie)
    with pytest.raises(TypeError, match="is an `await` missing"):
        await perform(forget)


async def test_links_are_checked_if_the_app_is_known() -> None:
    own = App("own")

    @own.task(must_continue=True, continues=[send])
    async def stop() -> None: ...

    @own.task(then=lambda result: [send.task(order=result)])
    async def derive() -> int:
        return 7

    own.include(App("empty"))
    ctx = FakeContext(derive)
    await perform(ctx)

    assert ctx.follow_ups == [send.task(order=7)]
    with pytest.raises(ContractBroken, match="must continue its chain"):
        await perform(stop)


async def test_outcome_returned_instead_of_a_result_is_returned() -> None:
    own = App("own")

    @own.task
    async def wait() -> int | Snooze:
        return Snooze(60)

    assert await perform(wait) == Snooze(60)


async def test_children_are_spawned_and_the_gather_step_sees_the_given_results() -> None:
    first = FakeContext(report)
    await perform(first, day="monday")
    assert first.spawned == [send.task(order=1), send.task(order=2)]

    children = [
        Child(id=2, handler="send", state=TaskState.COMPLETED, payload={}, result="sent", info=None, error=None),
        Child(id=3, handler="other", state=TaskState.COMPLETED, payload={}, result="x", info=None, error=None),
    ]

    result = await perform(FakeContext(report, step=1, children=children), day="monday")

    assert result == ["sent"]


def test_process_handler_receives_its_own_kind_of_context() -> None:
    ctx = FakeContext(render, attempt=2, scheduled_for=datetime(2026, 1, 5, tzinfo=UTC))

    assert perform_sync(ctx, pages=3) == "3 pages, attempt 2, planned for 2026-01-05"


async def test_batch_has_an_outcome_for_each_task() -> None:
    contexts = [FakeContext(index, task_id=n) for n in (1, 2)]

    outcomes = await perform_batch(contexts, [{"id": 2}, {"id": 3}])

    assert outcomes == [2, Cancel("odd")]
    assert [ctx.facts for ctx in contexts] == [{"of": 2}, {"of": 2}]
    assert await perform_batch(index, [{"id": 4}]) == [4]
    with pytest.raises(TypeError, match="give perform_batch a list"):
        await perform(index, [{"id": 4}])


@pytest.mark.parametrize("looks", [0, 2])
async def test_handler_can_detect_that_it_must_stop(looks: int) -> None:
    ctx = FakeContext(count)
    ctx.lose("cancelled", looks=looks)

    with pytest.raises(HandlerAborted) as raised:
        await perform(ctx, days=10)

    assert raised.value.reason is LostReason.CANCELLED
    assert ctx.facts.get("day") == (0 if looks else None)


async def test_lost_claim_completes_nothing(aconnection: AsyncConnection) -> None:
    await aconnection.execute("create temporary table ledger (note text)")
    ctx = FakeContext(write, connection=aconnection)
    ctx.lose()

    with pytest.raises(HandlerAborted):
        await perform(ctx, note="x")

    cursor = await aconnection.execute("select count(*) from ledger")
    assert (await cursor.fetchone(), ctx.completed, ctx.calls) == ((0,), False, [])


async def test_transaction_uses_the_tests_connection(aconnection: AsyncConnection) -> None:
    await aconnection.execute("create temporary table ledger (note text)")
    ctx = FakeContext(write, connection=aconnection)

    await perform(ctx, note="x")

    cursor = await aconnection.execute("select note from ledger")
    assert await cursor.fetchall() == [("x",)]
    assert (ctx.completed, ctx.result, ctx.calls) == (True, {"note": "x"}, [print])
    with pytest.raises(AlreadyCompleted):
        await perform(ctx, note="y")
    assert ctx.calls == [print]


async def test_rollback_discards_the_completion_and_after_commit_calls(aconnection: AsyncConnection) -> None:
    await aconnection.execute("create temporary table ledger (note text)")
    ctx = FakeContext(write, connection=aconnection)

    with pytest.raises(ValueError, match="empty"):
        await perform(ctx, note="")

    assert (ctx.completed, ctx.result, ctx.calls) == (False, None, [])


def test_sync_connection_is_supported_too(connection: psycopg.Connection[Any]) -> None:
    connection.execute("create temporary table ledger (note text)")
    with connection.transaction(force_rollback=True):
        perform_sync(FakeContext(write, connection=connection), note="x")

        assert connection.execute("select note from ledger").fetchall() == [("x",)]


async def test_any_object_can_replace_the_connection() -> None:
    class Tape:
        def __init__(self) -> None:
            self.queries: list[str] = []

        async def execute(self, query: str, params: object = None) -> None:
            self.queries.append(query)

    tape = Tape()
    ctx = FakeContext(write, connection=tape)
    await perform(ctx, note="x")
    assert tape.queries == ["insert into ledger values (%s)"]
    assert (ctx.completed, ctx.calls) == (True, [print])

    ctx = FakeContext(write, connection=tape)
    with pytest.raises(ValueError, match="empty"):
        await perform(ctx, note="")
    assert (ctx.completed, ctx.calls) == (False, [])


async def test_transaction_without_a_connection_reports_what_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"FakeContext\(..., connection=...\)"):
        await perform(write, note="x")


async def test_unstorable_value_is_rejected_as_by_a_worker() -> None:
    ctx = FakeContext(bill)

    with pytest.raises(InvalidTask, match="info"):
        await ctx.info({"what": object()})
    ctx.continue_with(send.task(order=1))
    with pytest.raises(InvalidTask, match="continued only once"):
        ctx.continue_with(send.task(order=2))


async def test_function_that_a_process_cannot_import_is_rejected() -> None:
    ctx = FakeContext(bill)

    assert await ctx.in_process(twice, 3) == 6
    with pytest.raises(HandlerError, match="ValueError: over a stone"):
        await ctx.in_process(stumble)
    with pytest.raises(HandlerError, match="is not its function"):
        await ctx.in_process(lambda: 1)


def twice(number: int) -> int:
    return 2 * number


def stumble() -> None:
    raise ValueError("over a stone")


def test_every_context_method_works_without_a_worker() -> None:
    """The fake context answers everything for which the real one needs its worker."""
    asks = {
        name
        for name, word in vars(Context).items()
        if (code := code_of(word)) is not None and {"_services"} & {*code.co_names} and name != "__init__"
    }

    assert asks - {"_build_report", "_check_result"} <= vars(FakeContext).keys()


def code_of(word: object) -> Any:
    function = getattr(word, "fget", word)  # a property's
    return getattr(getattr(function, "__wrapped__", function), "__code__", None)


def test_unit_test_opens_no_connection() -> None:
    script = (
        "import socket, asyncio\n"
        "from rolecall import App, Context\n"
        "from rolecall.testing import perform_sync\n"
        "app = App('shop')\n"
        "@app.task\n"
        "async def greet(ctx: Context, name: str) -> str:\n"
        "    return f'Hello, {name}'\n"
        "import psycopg\n"
        "psycopg.connect = psycopg.AsyncConnection.connect = None\n"
        "assert perform_sync(greet, name='Ada') == 'Hello, Ada'\n"
        "import sys; assert 'pytest' not in sys.modules and 'rolecall.embedded.server' not in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
