"""`rolecall up` keeps running while its worker cannot start, and starts it later."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended, read_until, until

LACKS = """
from contextlib import asynccontextmanager
from pathlib import Path
from rolecall import App, ConfigError, Finding, Severity

@asynccontextmanager
async def lifespan():
    if not Path("key").exists():
        raise ConfigError("there is none", variable="the key")
    yield

async def keys(connection):
    return [Finding(severity=Severity.WARNING, problem="the door is shut", advice="bring the key")]

app = App("shop", lifespan=lifespan, checks=[keys])

@app.task(role="sums")
def add(a: int, b: int) -> int:
    return a + b
"""


def test_up_reports_a_missing_requirement_and_starts_its_worker_later(
    spawn: Spawn, cli: Run, dsn: str, folder: Path
) -> None:
    (folder / "shop.py").write_text(LACKS)
    up = spawn("up", "--app", "shop:app", "--json", DATABASE_URL=dsn)
    document(up)
    logged = read_until(up, "The worker cannot start yet, trying again: the key: there is none")
    task_id = cli("enqueue", "add", '{"a": 1, "b": 2}', "--json").json["id"]
    assert cli("workers", "list", "--json").json == []

    (folder / "key").touch()
    until(lambda: "completed" in cli("tasks", "show", task_id).out, "the task completes")
    up.send_signal(signal.SIGTERM)

    assert ended(up).code == 0
    assert "shop.keys: the door is shut; bring the key" in logged


def test_up_waiting_for_its_worker_exits_on_a_signal(spawn: Spawn, dsn: str, folder: Path) -> None:
    (folder / "shop.py").write_text(LACKS)
    up = spawn("up", "--app", "shop:app", "--json", DATABASE_URL=dsn)
    document(up)

    up.send_signal(signal.SIGHUP)

    assert ended(up).code == 0


def test_standalone_worker_reports_a_missing_requirement_and_exits(cli: Run, folder: Path) -> None:
    (folder / "lacking.py").write_text(LACKS)

    refused = cli("worker", "--app", "lacking:app")

    assert refused.code == 2
    assert "the key: there is none" in refused.err
