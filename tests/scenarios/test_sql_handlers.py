from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.types.json import Jsonb

from rolecall import NewTask
from tests.scenarios.victims import ended
from tests.worker.bench import Bench, until

REPOSITORY = Path(__file__).parents[2]
HANGS = "perform pg_sleep(600);"
ROLE = {"name": "shop", "retry": {"kind": "linear", "step": 0}}


@contextmanager
def up(bench: Bench, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `rolecall up` without an app for the block: it serves what the database itself declares."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "rolecall", "up", "--http", "off", "--database-url", bench.dsn],
            cwd=REPOSITORY,
            env=os.environ | {"PYTHONPATH": "src:."},
            stdout=stream,
            stderr=stream,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def declare(bench: Bench, lease: int) -> None:
    """Declare a handler that notes its session, keeps a lock, and hangs at its first attempt."""
    bench.connection.execute("create schema shop")
    bench.connection.execute("create table shop.stock (store int primary key, counted int not null)")
    bench.connection.execute("insert into shop.stock values (7, 0)")
    bench.connection.execute("create sequence shop.tries")
    bench.connection.execute(
        "create procedure shop.count(payload jsonb, inout info jsonb) language plpgsql as $$ begin "
        "update shop.stock set counted = counted + 1; "
        f"if nextval('shop.tries') = 1 then {HANGS} end if; end $$"
    )
    bench.ask("select rolecall.declare(%s)", Jsonb([{**ROLE, "lease": lease}]))
    bench.ask("select rolecall.declare_procedure('count', 'shop.count', 'shop')")


def sessions(bench: Bench) -> int | None:
    pid: int | None = bench.ask("select pid from rolecall.procedure_sessions()")
    return pid


async def test_concurrent_workers_finish_a_tree_of_procedures(bench: Bench, tmp_path: Path) -> None:
    """Real processes over a database of their own, and the states that are left."""
    declare(bench, lease=60)
    bench.ask("select nextval('shop.tries')")
    bench.connection.execute(
        "create procedure shop.round(payload jsonb, inout info jsonb) language plpgsql as $$ begin "
        "perform rolecall.spawn(rolecall.current_task(), "
        '(select jsonb_agg(\'{"handler": "count"}\'::jsonb) from generate_series(1, 20))); end $$'
    )
    bench.ask("select rolecall.declare_procedure('round', 'shop.round', 'shop')")
    (task_id,) = bench.enqueue(NewTask(handler="round"))

    with up(bench, tmp_path / "first.log"), up(bench, tmp_path / "second.log"):
        (task,) = await bench.finished(task_id, within=60)

    assert task.state == "completed"
    assert bench.ask("select counted from shop.stock") == 20
    assert bench.ask("select count(*) from rolecall.all_tasks where state = 'completed' and attempt = 1") == 21


async def test_session_of_a_killed_worker_is_ended_and_its_task_runs_again(bench: Bench, tmp_path: Path) -> None:
    declare(bench, lease=1)
    (task_id,) = bench.enqueue(NewTask(handler="count"))

    with up(bench, tmp_path / "first.log") as first:
        await until(lambda: sessions(bench) and bench.task(task_id).started_at, 60)
        hanging = sessions(bench)
        first.send_signal(signal.SIGKILL)
        assert await ended(first) == -signal.SIGKILL
    assert sessions(bench) == hanging, "Postgres has not noticed: the session still holds its lock"

    with up(bench, tmp_path / "second.log"):
        (task,) = await bench.finished(task_id, within=60)
        await until(lambda: not bench.ask("select count(*) from pg_stat_activity where pid = %s", hanging))
        await until(lambda: "1 pending" in (tmp_path / "second.log").read_text())

    assert (task.state, task.attempt) == ("completed", 2)
    assert bench.ask("select counted from shop.stock") == 1
