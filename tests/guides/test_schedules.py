"""docs/guides/schedules.md: each example works as described."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from rolecall.cli.main import run
from rolecall.db.run import run as run_statement
from rolecall.sql import roles, schedules
from rolecall.testing import drain
from tests.guides.blocks import blocks, python_of

Connection = psycopg.Connection[Any]
Cli = Callable[[str], str]


@pytest.fixture
def shops(connection: Connection) -> dict[str, Any]:
    """The guide's app, declared as its first worker would."""
    names = python_of("schedules.md")
    app = names["app"]
    app.check()
    run_statement(connection, roles.declare(*app.declaration()))
    run_statement(connection, schedules.ensure(app.schedules.values()))
    return names


@pytest.fixture
def cli(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setenv("DATABASE_URL", database)

    def call(line: str) -> str:
        assert run(shlex.split(line)[1:]) == 0
        return capsys.readouterr().out

    return call


def test_schedules_are_stored_as_declared(shops: dict[str, Any], connection: Connection) -> None:
    stored = {schedule.name: schedule for schedule in run_statement(connection, schedules.list_())}

    assert stored.keys() == shops["app"].schedules.keys()
    assert (stored["daily report"].cron, stored["daily report"].zone) == ("30 2 * * *", "Europe/Berlin")
    assert (stored["tick"].misfire, stored["tick"].overlap) == ("skip", "skip")
    assert (stored["weekly report"].jitter, stored["weekly report"].made_by) == (600, "app")


async def test_visits_are_spread_over_the_day(shops: dict[str, Any], database: str, connection: Connection) -> None:
    run_statement(connection, schedules.trigger("visits"))
    await drain(shops["app"], database)

    visits = connection.execute(
        "select scheduled_for from rolecall.all_tasks where handler = 'visit' order by scheduled_for"
    ).fetchall()
    batches = Counter(moment for (moment,) in visits)
    assert sorted(batches.values()) == [50] * 6
    # The first batch is due at once, a little after the moment at which the day of visits began.
    assert timedelta(hours=19, minutes=59) < max(batches) - min(batches) <= timedelta(hours=20)
    (visited,) = [each for each in run_statement(connection, schedules.list_()) if each.name == "visits"]
    assert visited.last_task_count == 300


def test_commands_work_as_printed(shops: dict[str, Any], cli: Cli) -> None:
    [looking, manage] = blocks("schedules.md", "sh")
    _, look = looking.splitlines()
    change, put, preview, trigger, disable = manage.splitlines()
    cli(f"{trigger.replace('nightly', shlex.quote('clean up'))}")

    assert "enqueued" in cli(look)
    assert "3600" in cli(change)
    assert "America/Phoenix" in cli(put)
    assert cli(preview).count(":00:00Z") == 20
    assert "task" in cli(trigger)
    assert "no" in cli(disable)


def test_operator_changes_survive_the_next_start(shops: dict[str, Any], cli: Cli, connection: Connection) -> None:
    cli('rolecall schedules put "clean up" --every 1h')

    assert run_statement(connection, schedules.ensure(shops["app"].schedules.values())) == 0
    (kept,) = [each for each in run_statement(connection, schedules.list_()) if each.name == "clean up"]
    assert (kept.every, kept.edited_at is None) == (3600, False)
