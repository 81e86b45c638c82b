"""A worker process exits after its grace period even if handlers continue."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, until

STUBBORN = """

import asyncio, time

@app.task(role="sums")
async def deaf() -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

@app.task(role="sums")
async def elsewhere() -> None:
    await asyncio.to_thread(time.sleep, 3600)
"""


def test_handlers_that_never_end_do_not_block_the_process_exit(spawn: Spawn, cli: Run, dsn: str, folder: Path) -> None:
    (folder / "shop.py").write_text((folder / "shop.py").read_text() + STUBBORN)
    worker = spawn("worker", "--app", "shop:app", "--slots", "2", "--grace", "0.2", DATABASE_URL=dsn)
    until(lambda: len(cli("workers", "list", "--json").json) == 1, "the worker is registered")
    ids = [cli("enqueue", handler, "--json").json["id"] for handler in ("deaf", "elsewhere")]
    until(lambda: states(cli, ids) == {"running"}, "both handlers run")

    worker.send_signal(signal.SIGTERM)
    stopped = ended(worker)

    assert stopped.code == 0, stopped.err
    assert states(cli, ids) == {"pending"}


def states(cli: Run, ids: list[int]) -> set[str]:
    return {cli("tasks", "show", task_id, "--json").json["task"]["state"] for task_id in ids}
