"""A program of a user's, as he would have it checked: mypy --strict and pyright find nothing to say about it."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, assert_type

from rolecall import (
    App,
    AsyncClient,
    AsyncJoinable,
    BatchContext,
    Child,
    Client,
    Context,
    Enqueued,
    HandlerDefinition,
    Joinable,
    Needed,
    NewTask,
    ProcessContext,
    Snooze,
    Task,
    TaskOptions,
)

app = App("shop")


@dataclass(frozen=True)
class Item:
    name: str
    cents: int


@dataclass(frozen=True)
class Invoice:
    number: int
    cents: int


@app.task(role="mail", max_attempts=3)
async def greet(ctx: Context, name: str, loud: bool = False) -> str:
    return f"Hello, {name}{'!' if loud else '.'} {ctx.attempt}"


@app.task
def add(a: int, b: int = 0) -> int:
    return a + b


@app.task
async def sweep() -> None: ...


@app.task(timeout=30)
def bill(ctx: Context, items: list[Item]) -> Invoice | Snooze:
    return Invoice(ctx.task_id, sum(item.cents for item in items)) if items else Snooze(60)


@app.task(process=True)
def render(ctx: ProcessContext, pages: int) -> bytes:
    return bytes(pages)


@app.task(batch=100)
def index(ctx: BatchContext, items: list[Item]) -> list[int]:
    return [item.cents for item in items]


@app.task
async def echo(ctx: Context, /, **payload: Any) -> dict[str, Any]:
    return payload


@app.task
def log(message: object) -> None: ...


async def total(ctx: Context, day: str) -> int:
    assert_type(await ctx.children(), list[Child[Any]])
    counted = await ctx.children(add)
    assert_type(counted, list[Child[int]])
    assert_type(await ctx.needs(greet), list[Needed[str]])
    return sum(child.result for child in counted)


@app.task(gather=total)
async def report(ctx: Context, day: str) -> None:
    ctx.spawn(add.task(a=1), add.task(2, b=3).options(priority=5))
    ctx.follow_up(greet.task(name=day))


def by_a_client(client: Client, own: Joinable) -> None:
    assert_type(client.enqueue(greet, name="Ada"), Enqueued[str])
    assert_type(client.enqueue(greet, "Ada", loud=True), Enqueued[str])
    assert_type(client.enqueue(greet, {"name": "Ada"}, priority=5, connection=own), Enqueued[str])
    assert_type(client.enqueue(greet.using(priority=5, connection=own), name="Ada"), Enqueued[str])
    assert_type(client.enqueue(add.task(a=1), key="store:7", connection=own), Enqueued[int])
    assert_type(client.enqueue(sweep, priority=1), Enqueued[None])
    assert_type(client.enqueue(report, day="monday"), Enqueued[int])
    assert_type(client.enqueue("greet", {"name": "Ada"}), Enqueued[Any])
    assert_type(client.enqueue(render, pages=7), Enqueued[bytes])
    assert_type(client.enqueue_many([add.task(a=n) for n in range(3)]), list[Enqueued[int]])
    assert_type(client.wait(client.enqueue(add, a=1), timeout=5), Task[int])
    assert_type(client.wait(client.enqueue(add, a=1)).result, int)
    assert_type(client.get(7).result, Any)
    client.enqueue(index.task(name="tea", cents=300))
    client.enqueue(echo, anything=7)
    client.enqueue(log, message="a line")
    assert_type(client.enqueue(bill, items=[Item("tea", 300)]), Enqueued[Invoice | Snooze])


async def by_an_async_client(client: AsyncClient, own: AsyncJoinable) -> None:
    stored = await client.enqueue(greet, name="Ada")
    assert_type(stored, Enqueued[str])
    assert_type(await client.wait(stored, timeout=5), Task[str])
    assert_type(await client.enqueue(add.task(a=1), connection=own), Enqueued[int])
    assert_type(await greet.aenqueue(name="Ada"), Enqueued[str])
    assert_type(await add.using(connection=own).aenqueue(a=1), Enqueued[int])


def by_the_handler() -> None:
    assert_type(greet.enqueue(name="Ada"), Enqueued[str])
    assert_type(greet.using(priority=5, key="customer:7").enqueue("Ada"), Enqueued[str])
    assert_type(greet.task(name="Ada"), NewTask[str])


def as_a_function(ctx: Context) -> None:
    assert_type(add(1, b=2), int)
    begun: Coroutine[Any, Any, str] = greet(ctx, "Ada")
    begun.close()


def in_annotations(handler: HandlerDefinition[..., object], task: NewTask, options: TaskOptions) -> str:
    return f"{handler.name} {task.options(**options).priority}"


in_annotations(greet, NewTask(handler="greet"), {"priority": 5})
