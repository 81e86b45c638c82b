"""Typical mistakes: each line marked as wrong is an error of mypy --strict and of pyright, and no other line is."""

from __future__ import annotations

import psycopg

from rolecall import App, AsyncClient, Client, Context
from tests.types.sample.shop import add, app, greet, report, sweep, total


def payloads(client: Client) -> None:
    client.enqueue(greet, nmae="Ada")  # wrong
    client.enqueue(greet, name=7)  # wrong
    client.enqueue(greet)  # wrong
    client.enqueue(greet, name="Ada", loud="very")  # wrong
    client.enqueue(add, a="one")  # wrong
    client.enqueue(report, day=1)  # wrong
    client.enqueue(sweep, store=7)  # wrong
    greet.task(nmae="Ada")  # wrong
    greet.task(name=7)  # wrong
    greet.enqueue()  # wrong
    greet.enqueue(name="Ada", priority=5)  # wrong


def options(client: Client) -> None:
    client.enqueue(greet, {"name": "Ada"}, prioritiy=5)  # wrong
    client.enqueue(greet, {"name": "Ada"}, priority="high")  # wrong
    client.enqueue(greet.task(name="Ada"), prioritiy=5)  # wrong
    greet.task(name="Ada").options(prioritiy=5)  # wrong
    greet.using(prioritiy=5)  # wrong
    app.task(rolle="mail")  # wrong
    app.task(max_attempts="three")  # wrong


def results(client: Client) -> None:
    client.wait(client.enqueue(add, a=1)).result.upper()  # wrong
    _ = client.enqueue(greet, name="Ada").number  # wrong


async def awaits(client: AsyncClient, ctx: Context) -> None:
    (await client.wait(await client.enqueue(add, a=1))).result.upper()  # wrong
    (await ctx.children(add))[0].result.upper()  # wrong
    ctx.spwan(add.task(a=1))  # wrong


def connections(client: Client, plain: psycopg.Connection, awaited: psycopg.AsyncConnection) -> None:
    client.enqueue(add.task(a=1), connection=plain)
    client.enqueue(add.task(a=1), connection=awaited)  # wrong
    client.enqueue(add.task(a=1), connection=7)  # wrong


other = App("other")


@other.task(gather=total)  # wrong
async def of_another_payload(ctx: Context, month: str) -> None: ...
