"""Problems of a real pool reach real receivers, once each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from standardwebhooks import Webhook

from rolecall import App, AsyncClient, TaskState
from rolecall.alerting import app
from rolecall.alerting.program import check, send_test
from rolecall.testing import Clock, drain, working
from tests.alerting.conftest import SECRET, Mailbox
from tests.receivers import Receiver

OPEN = ("pending", "running")
shop = App("shop")


@shop.task(role="mail")
async def greet() -> None:
    pass


@pytest.fixture
async def client(database: str, clock: Clock) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(database, app=app) as client:
        yield client


@pytest.fixture
async def waiting(database: str, clock: Clock) -> int:
    """A task that has waited for two minutes, because no worker has its handler."""
    async with AsyncClient(database, app=shop) as client:
        task = await client.enqueue(greet.task())
    clock.advance(minutes=2)
    return task.id


async def check_now(client: AsyncClient, database: str) -> None:
    """Run a check, and all tasks that it enqueues."""
    async with working(app, database):
        await client.wait(await client.enqueue(check.task()))
        async with asyncio.timeout(30):
            while any(count.role == "alerts" and count.state in OPEN for count in await client.counts()):
                await asyncio.sleep(0.05)


async def test_problem_is_posted_and_mailed_once(
    client: AsyncClient,
    database: str,
    waiting: int,
    receiver: Receiver,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROLECALL_ALERT_DASHBOARD", "https://jobs.example.org/rolecall/")
    monkeypatch.setenv("ROLECALL_ALERT_AFTER", "0")

    await check_now(client, database)
    await check_now(client, database)

    [(headers, body)] = receiver.posts
    sent = json.loads(body)
    assert Webhook(SECRET).verify(body.decode(), headers) == sent
    assert (sent["type"], sent["data"]["kind"]) == ("problem.opened", "no_handler")
    assert sent["data"]["sentence"] == "No active worker of role mail has the handler greet; 1 task waits."
    assert sent["data"]["url"] == "https://jobs.example.org/rolecall/tasks?state=ready&role=mail&handler=greet"
    [mail] = mailbox.mails
    assert mail["Subject"] == "[Rolecall] Problem: No handler"
    assert mail["To"] == "ada@example.org, bob@example.org"
    assert sent["data"]["sentence"] in mail.get_content()
    assert sent["data"]["url"] in mail.get_content()


async def test_end_of_a_problem_is_announced(
    client: AsyncClient, database: str, clock: Clock, waiting: int, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLECALL_ALERT_AFTER", "0")
    await check_now(client, database)
    await client.cancel(waiting)
    clock.advance(minutes=6)

    await check_now(client, database)

    sent = [json.loads(body) for _, body in receiver.posts]
    assert [each["type"] for each in sent] == ["problem.opened", "problem.resolved"]
    assert sent[1]["data"]["sentence"] == "No handler: no longer (mail)."


async def test_unavailable_receiver_gets_the_message_later_with_the_same_id(
    client: AsyncClient, database: str, clock: Clock, receiver: Receiver
) -> None:
    receiver.statuses = [503, 429]
    receiver.headers = {"retry-after": "7"}
    await client.enqueue(send_test.task())

    await drain(app, database, clock=clock)

    assert len(receiver.posts) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.posts}) == 1


async def test_rejected_message_fails_at_once_with_the_answer(
    client: AsyncClient, database: str, clock: Clock, receiver: Receiver, connection: Any
) -> None:
    receiver.statuses = [410]
    await client.enqueue(send_test.task())

    await drain(app, database, clock=clock)

    query = "select id from rolecall.all_tasks where handler = 'alerts.webhook'"
    [(task_id,)] = connection.execute(query).fetchall()
    failed = await client.get(task_id)
    assert (failed.state, failed.attempt) == (TaskState.FAILED, 1)
    assert "the receiver answered 410: not now" in (failed.error or "")


async def test_test_message_without_receivers_fails(client: AsyncClient, database: str) -> None:
    task = await client.enqueue(send_test.task())

    await drain(app, database)

    assert "there are no receivers" in ((await client.get(task.id)).error or "")
