"""Workers of two apps in one database, as in the guide."""

from __future__ import annotations

import logging

import pytest

from rolecall import App, Client, WorkerOptions
from rolecall.testing import working
from tests.worker.bench import Bench, until

SCHEDULES = "select array_agg((name, enabled)::text order by name) from rolecall.schedules"
WARNED = "declare the handler 'send' differently"


def make_app(name: str) -> App:
    app = App(name)

    @app.task(name=f"{name}.report", role=f"{name}.reports")
    async def report() -> str:
        return name

    app.schedule(f"{name}.nightly", report, cron="0 4 * * *")
    return app


async def test_apps_with_prefixes_keep_their_schedules_and_run_their_own_tasks(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    shop, mail = make_app("shop"), make_app("mail")

    with caplog.at_level(logging.WARNING, "rolecall.worker"):
        async with working(shop, bench.dsn) as one, working(mail, bench.dsn) as other:
            await one.started()
            await other.started()
            with Client(bench.dsn, app=shop) as client:
                tasks = await bench.finished(*(client.enqueue(f"{app}.report").id for app in ("shop", "mail")))
        async with working(mail, bench.dsn) as other:
            await other.started()

    assert [(task.result, task.state) for task in tasks] == [("shop", "completed"), ("mail", "completed")]
    assert bench.ask(SCHEDULES) == ["(mail.nightly,t)", "(shop.nightly,t)"]
    assert "differently" not in caplog.text


async def test_worker_warns_of_a_handler_that_another_running_app_declares_differently(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    shop, mail = App("shop"), App("mail")

    @shop.task(name="send")
    async def send_order(order: int) -> None: ...

    @mail.task(name="send")
    async def send_mail(to: str) -> None: ...

    with caplog.at_level(logging.WARNING, "rolecall.worker"):
        async with working(shop, bench.dsn) as first:
            await first.started()
            assert WARNED not in caplog.text
            async with working(mail, bench.dsn):
                await until(lambda: f"the apps mail, shop {WARNED}" in caplog.text)


async def test_worker_does_not_warn_of_a_handler_that_two_apps_include(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    shared = App("shared")

    @shared.task
    async def send(to: str) -> None: ...

    apps = [App("shop"), App("mail")]
    for app in apps:
        app.include(shared)

    with caplog.at_level(logging.WARNING, "rolecall.worker"):
        async with working(apps[0], bench.dsn), working(apps[1], bench.dsn, WorkerOptions(maintenance=False)) as last:
            await last.started()

    assert "differently" not in caplog.text
