"""`manage.py rolecall worker`: workers that are processes of their own, and find the project and its database."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.cli.processes import read_until, until
from tests.django.conftest import Project

ENQUEUES = """\
from shop.models import Order
from shop.tasks import count_orders, send_receipt, send_reminder
from shop.django_tasks import add
order = Order.objects.create(customer="Ada")
send_receipt.enqueue(order_id=order.pk)
send_reminder.enqueue(order_id=order.pk)
count_orders.enqueue()
print(add.enqueue(1, b=2).id)
"""
ENDED = "select handler, state::text, coalesce(result ->> 'orders', result #>> '{}') from rolecall.all_tasks"
Connection = psycopg.Connection[Any]


def test_worker_runs_tasks_enqueued_by_the_project(shop: Project, connection: Connection) -> None:
    shop.manage("migrate", "-v0")
    shop.manage("shell", "-v0", "-c", ENQUEUES)

    result = shop.manage("rolecall", "worker", "--until-idle", "--slots=2")

    assert sorted(connection.execute(ENDED).fetchall()) == [
        ("count_orders", "completed", "1"),
        ("send_receipt", "completed", "for Ada"),
        ("send_reminder", "completed", "remember, Ada"),
        ("shop.django_tasks.add", "completed", "3"),
    ]
    assert connection.execute("select receipt from shop_order").fetchall() == [("for Ada",)]
    assert "completed" in result


def test_language_and_time_zone_of_an_attempt_do_not_affect_the_next(shop: Project, connection: Connection) -> None:
    shop.manage("migrate", "-v0")
    enqueue = "from shop.tasks import greet_abroad; [greet_abroad.enqueue() for _ in range(2)]"
    shop.manage("shell", "-v0", "-c", enqueue)

    shop.manage("rolecall", "worker", "--until-idle", "--slots=1")

    results = [row[0] for row in connection.execute("select result from rolecall.all_tasks").fetchall()]
    assert len(results) == 2
    assert results[0] == results[1]


def test_workers_in_several_processes_find_the_project_and_reveal_no_password(
    shop: Project, connection: Connection
) -> None:
    shop.manage("migrate", "-v0")
    with subprocess.Popen(
        [shop.python, str(shop.folder / "manage.py"), "rolecall", "worker", "--processes=2"],
        cwd=Path("/"),
        env=shop.variables,
        stderr=subprocess.PIPE,
        text=True,
    ) as workers:
        try:
            read_until(workers, "Starting worker")
            password = str(conninfo_to_dict(shop.variables["SITE_DATABASE"])["password"])
            parent = psutil.Process(workers.pid)
            lines = [" ".join(each.cmdline()) for each in (parent, *parent.children(recursive=True))]
            assert len(lines) == 3
            assert not any(password in line for line in lines)

            shop.manage("shell", "-v0", "-c", ENQUEUES)
            done = f"select count(*) = 4 from ({ENDED} where state = 'completed') as done"
            until(lambda: connection.execute(done).fetchone() == (True,), "all are done")
        finally:
            workers.send_signal(signal.SIGTERM)
            workers.communicate(timeout=60)
    assert workers.returncode == 0


def test_command_keeps_its_exit_code_and_message(shop: Project) -> None:
    done = shop.run("manage.py", "rolecall", "tasks", "show", "7", "--settings", "settings")

    assert (done.returncode, done.stderr.strip()) == (4, "rolecall: there is no task 7")
