"""Prints how many files a reader must open to follow a plain task from enqueue to finish, and a click on Retry.

A profiler records the functions of `src/rolecall`; the server counts the calls of the engine's functions. Functions
that are inlined are found in the text of their callers. `--files` lists all files.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx2
import psycopg

from rolecall import App, Client, Worker, WorkerOptions
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.embedded.server import EmbeddedServer
from rolecall.db.migrator import migrate
from rolecall.web import build
from tools.engine import NAME, Engine
from tools.errors import SetupError

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = str(ROOT / "src" / "rolecall")
PATIENCE = 30.0
# A session reports its statistics at most once a second.
UNTOLD = 1.2
AFTERWARDS = 0.05
WARMED_UP = 2
WALKS = 3
# Other databases of the server may belong to other tests.
END_SESSIONS = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where pid <> pg_backend_pid() and datname = current_database()
"""
FINISHED = "select from rolecall.finished_tasks where id = %s"
CALLED = "select distinct funcname from pg_stat_user_functions where schemaname = 'rolecall'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The functions on the way: Python functions by file, and the engine's files."""

    name: str
    functions: dict[str, set[str]] = field(default_factory=dict)
    sql: dict[str, set[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the number of files and functions by language."""
        parts = (("Python", self.functions), ("SQL", self.sql))
        return f"{self.name}: " + "; ".join(
            f"{len(files)} {kind} files, {sum(map(len, files.values()))} functions" for kind, files in parts if files
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """The Python functions that were called, and the SQL that was sent to the engine."""

    functions: set[CodeType] = field(default_factory=set)
    sql_names: set[str] = field(default_factory=set)

    def clear(self) -> None:
        """Discard everything that was recorded so far."""
        self.functions.clear()
        self.sql_names.clear()


def main() -> int:
    """Follow both paths and print the results."""
    # A session reports its statistics when it ends, which the worker would log as an error.
    logging.disable()
    with tempfile.TemporaryDirectory(prefix="rolecall-walks-") as folder, EmbeddedServer(Path(folder)) as server:
        dsn = server.dsn("walks")
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
        walks = asyncio.run(walk(dsn, server.superuser_dsn("walks")))
    for each in walks:
        print(each)
        if "--files" in sys.argv[1:]:
            for files in (each.functions, each.sql):
                print("".join(f"    {file}: {', '.join(sorted(files[file]))}\n" for file in sorted(files)), end="")
    return 0


async def walk(dsn: str, superuser: str) -> list[Walk]:
    """Run a function with a profiler and with the statistics of the server."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"alter database {connection.info.dbname} set track_functions = 'all'")
        functions, sql_names = await a_plain_task(dsn, connection)
        called = {name for (name,) in connection.execute(CALLED)}
        retried = await a_click_on_retry(dsn)
    engine = Engine.read(ROOT)
    called &= engine.reachable_from(sql_names)
    sql = by_file(called | find_inlined(called, engine), engine)
    return [
        Walk(name="a plain task", functions=functions, sql=sql),
        Walk(name="a click on Retry", functions=retried),
        Walk(name="all that finish may call", sql=by_file(engine.reachable_from({"finish"}), engine)),
    ]


async def a_plain_task(dsn: str, connection: psycopg.Connection[Any]) -> tuple[dict[str, set[str]], set[str]]:
    """Follow tasks from enqueue until a warmed-up worker has finished them, and return what each of them uses."""
    app = App("walks")

    @app.task(role="sums")
    async def add(a: int, b: int) -> int:
        return a + b

    async def one() -> None:
        task_id = client.enqueue(add, {"a": 1, "b": 2}).id
        async with asyncio.timeout(PATIENCE):
            while not connection.execute(FINISHED, (task_id,)).rowcount:  # noqa: ASYNC110 - the table tells nobody
                await asyncio.sleep(0.01)
        await asyncio.sleep(AFTERWARDS)

    worker = Worker(app, dsn, WorkerOptions(maintenance=False))
    with profiler() as recording, Client(dsn, app=app) as client:
        running = asyncio.create_task(worker.run())
        for _ in range(WARMED_UP):
            await one()
        await asyncio.sleep(UNTOLD)
        connection.execute("select pg_stat_reset()")
        recordings: list[Recording] = []
        for _ in range(WALKS):
            recording.clear()
            await one()
            recordings.append(Recording(set(recording.functions), set(recording.sql_names)))
        connection.execute(END_SESSIONS)
        worker.stop(now=True)
        await asyncio.wait_for(running, PATIENCE)
    # Functions of the task occur every time; a heartbeat may occur in one of the runs.
    functions = set.intersection(*(each.functions for each in recordings))
    return functions_by_file(functions), set.intersection(*(each.sql_names for each in recordings))


async def a_click_on_retry(dsn: str) -> dict[str, set[str]]:
    """Click on Retry on a cancelled task's page, and follow the request until the response."""
    with Client(dsn) as client:
        task_id = client.enqueue("add", {"a": 1, "b": 2}).id
        client.cancel(task_id)
    application = build(dsn, App("walks"), Settings(access=AccessSettings(auth=AuthMode.off)))
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as browser,
    ):
        await browser.get(f"/tasks/{task_id}")
        with profiler() as recording:
            answer = await browser.post(f"/tasks/{task_id}/retry", headers={"origin": "http://test"})
            functions = functions_by_file(recording.functions)
    if not answer.is_redirect:
        raise SetupError(f"the response to a click on Retry was {answer.status_code}")
    return functions


@contextmanager
def profiler() -> Iterator[Recording]:
    """Record the called functions, in this thread and in those that start meanwhile."""
    recording = Recording()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            recording.functions.add(frame.f_code)
            if frame.f_code.co_name == "execute":
                recording.sql_names.update(NAME.findall(str(frame.f_locals.get("query", ""))))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield recording
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def functions_by_file(codes: set[CodeType]) -> dict[str, set[str]]:
    """Return the functions of our package by file, without generated ones."""
    files: dict[str, set[str]] = {}
    for code in set(codes):
        if code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            place = str(Path(code.co_filename).relative_to(ROOT))
            files.setdefault(place, set()).add(code.co_qualname)
    return files


def find_inlined(called: set[str], engine: Engine) -> set[str]:
    """Return the SQL functions that are inlined into the called ones and therefore not counted."""
    found: set[str] = set()
    remaining = called & engine.by_name.keys()
    while remaining:
        called_names = {other.name for each in remaining for other in engine.objects_called_by(engine.by_name[each])}
        remaining = {
            name for name in called_names - called - found if "language sql" in engine.by_name[name].code.lower()
        }
        found |= remaining
    return found


def by_file(names: set[str], engine: Engine) -> dict[str, set[str]]:
    """Group the engine's functions by file."""
    files: dict[str, set[str]] = {}
    for name in names & engine.by_name.keys():
        files.setdefault(str(engine.by_name[name].file.relative_to(ROOT)), set()).add(name)
    return files


if __name__ == "__main__":
    sys.exit(main())
