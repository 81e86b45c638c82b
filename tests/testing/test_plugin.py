"""The fixtures work with pytest-asyncio in strict mode, without it, and with the project's own database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rolecall.testing import url_of

SHOP = """\
from rolecall import App

app = App("shop")


@app.task
async def send(order: int) -> str:
    return f"sent {order}"
"""

CONFTEST = """\
import os

import pytest
from sqlalchemy import create_engine

from rolecall.testing import prepare
from shop import app

pytest_plugins = ["rolecall.testing.plugin"]


@pytest.fixture(scope="session")
def task_app():
    return app


@pytest.fixture(scope="session")
def engine():
    engine = create_engine(os.environ["THEIRS"])
    yield engine
    engine.dispose()


@pytest.fixture
def database(engine):
    return prepare(engine, app)
"""

ASYNC_TESTS = """\
from datetime import UTC, datetime

import pytest

from rolecall import UnknownRole
from rolecall.testing import assert_enqueued, drain
from shop import app, send


@pytest.mark.asyncio
async def test_async_fixtures_are_there_in_strict_mode(atask_client, aconnection, database):
    task = await atask_client.enqueue(send, order=7)
    await assert_enqueued(aconnection, send, order=7)
    await drain(app, database)
    assert (await atask_client.get(task.id)).result == "sent 7"


@pytest.mark.asyncio
async def test_an_async_connection_follows_the_clock(clock, aconnection):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    clock.set(moment)
    cursor = await aconnection.execute("select rolecall.clock()")
    assert await cursor.fetchone() == (moment,)


def test_a_client_knows_the_app(task_client):
    with pytest.raises(UnknownRole, match="did you mean 'send'"):
        task_client.enqueue("sned")
"""

PLAIN_TESTS = """\
from rolecall.testing import assert_enqueued, drain_sync
from shop import app, send


def test_tasks_are_in_the_database_of_the_engine(engine, task_client, database, clock):
    task_client.enqueue(send, order=7)
    drain_sync(app, database)
    with engine.connect() as connection:
        assert_enqueued(connection, send, state="completed")
    clock.advance(hours=1)


def test_the_clock_runs_again_after_a_test_that_stopped_it(connection):
    shown = connection.execute("select rolecall.clock() - clock_timestamp() < interval '10 s'").fetchone()
    assert shown == (True,)
"""


def pytest_says(folder: Path, database: str, *arguments: str, tests: str) -> str:
    for name, text in {"shop": SHOP, "conftest": CONFTEST, "test_shop": tests}.items():
        (folder / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=os.environ | {"THEIRS": url_of(database, "psycopg"), "PYTEST_ADDOPTS": "", "PYTHONPATH": str(folder)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_async_fixtures_work_in_the_strict_mode_of_pytest_asyncio(database: str, tmp_path: Path) -> None:
    assert "3 passed" in pytest_says(tmp_path, database, "--asyncio-mode=strict", tests=ASYNC_TESTS)


def test_own_database_works_without_pytest_asyncio(database: str, tmp_path: Path) -> None:
    assert "2 passed" in pytest_says(tmp_path, database, "-p", "no:asyncio", tests=PLAIN_TESTS)
