"""Prints how much a reader must read to follow a plain task from enqueue to finish, and a click on Retry.

A profiler records the functions of `src/rolecall`; the server counts the calls of the engine's functions. Functions
that are inlined are found in the text of their callers. `--files` lists all files. `walks.toml` has the bars: the
highest figures that the tests accept, with the date and the reason of each change.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx2
import psycopg

from rolecall import App, Client, Worker, WorkerOptions
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.migrator import migrate
from rolecall.embedded.server import EmbeddedServer
from rolecall.sql.statement import Statement, single
from rolecall.web import build
from rolecall.worker.session import DatabaseSessions
from tools.engine import NAME, Engine
from tools.errors import SetupError

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = str(ROOT / "src" / "rolecall")
BARS = ROOT / "tools" / "walks.toml"
PATIENCE = 30.0
# A session reports its statistics at most once a second.
UNTOLD = 1.2
AFTERWARDS = 0.05
WARMED_UP = 2
WALKS = 6
# Other databases of the server may belong to other tests.
END_SESSIONS = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where pid <> pg_backend_pid() and datname = current_database()
"""
FINISHED = "select from rolecall.finished_tasks where id = %s"
CALLED = "select distinct funcname from pg_stat_user_functions where schemaname = 'rolecall'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The functions on the way: Python functions by file, and the engine's by file.

    `file_changes`: how often the next call is in another Python file. `depth`: the longest chain of SQL calls.
    """

    name: str
    functions: dict[str, set[str]] = field(default_factory=dict)
    sql: dict[str, set[str]] = field(default_factory=dict)
    file_changes: int = 0
    depth: int = 0

    def __str__(self) -> str:
        """Return the figures by language."""
        parts = []
        if self.functions:
            parts.append(f"{len(self.functions)} Python files, {count(self.functions)} functions")
        if self.file_changes:
            parts.append(f"{self.file_changes} file changes")
        if self.sql:
            parts.append(f"{len(self.sql)} SQL files, {count(self.sql)} functions")
        if self.depth:
            parts.append(f"{self.depth} calls deep")
        return f"{self.name}: {'; '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Recording:
    """The Python functions in the order of their calls, and the SQL names that were sent to the engine."""

    calls: list[CodeType] = field(default_factory=list)
    sql_names: set[str] = field(default_factory=set)

    def copy(self) -> Recording:
        """Return a recording that later calls do not change."""
        return Recording(list(self.calls), set(self.sql_names))

    def clear(self) -> None:
        """Discard everything that was recorded so far."""
        self.calls.clear()
        self.sql_names.clear()

    @property
    def file_changes(self) -> int:
        """How often the next call is in another file."""
        return sum(one.co_filename != other.co_filename for one, other in pairwise(self.calls))


def main() -> int:
    """Follow both paths and print the results."""
    # A session reports its statistics when it ends, which the worker would log as an error.
    logging.disable()
    with tempfile.TemporaryDirectory(prefix="rolecall-walks-") as folder, EmbeddedServer(Path(folder)) as server:
        dsn = server.dsn("walks")
        with psycopg.connect(dsn, autocommit=True) as connection:
            migrate(connection)
        walks = asyncio.run(walk(dsn, server.superuser_dsn("walks")))
    for name, figure in figures(walks).items():
        print(f"{name} {figure}, at most {bars()[name]}")
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
        recordings = await a_plain_task(dsn, connection)
        called = {name for (name,) in connection.execute(CALLED)}
        retried = await a_click_on_retry(dsn)
    # Functions of the task occur every time; a heartbeat may occur in one of the runs.
    functions = set.intersection(*(set(each.calls) for each in recordings))
    sql_names = set.intersection(*(each.sql_names for each in recordings))
    engine = Engine.read(ROOT)
    called &= engine.reachable_from(sql_names)
    sql = by_file(called | find_inlined(called, engine), engine)
    return [
        Walk(
            name="a plain task",
            functions=functions_by_file(functions),
            sql=sql,
            file_changes=min(each.file_changes for each in recordings),
        ),
        Walk(name="one statement of a worker", functions=await one_statement(dsn)),
        Walk(name="a click on Retry", functions=retried),
        Walk(
            name="all that finish may call",
            sql=by_file(engine.reachable_from({"finish"}), engine),
            depth=len(engine.longest_path_from("finish")),
        ),
    ]


def figures(walks: list[Walk]) -> dict[str, int]:
    """Return the figures that have a bar, by the name of the bar."""
    task, statement, retry, finish = walks
    return {
        "task_files": len(task.functions),
        "task_functions": count(task.functions),
        "task_file_changes": task.file_changes,
        "task_sql_files": len(task.sql),
        "task_sql_functions": count(task.sql),
        "statement_calls": count(statement.functions),
        "retry_files": len(retry.functions),
        "finish_files": len(finish.sql),
        "finish_functions": count(finish.sql),
        "finish_depth": finish.depth,
    }


def bar_changes() -> dict[str, list[dict[str, Any]]]:
    """Return the changes of each bar, oldest first: `value`, `date` and `reason`."""
    return tomllib.loads(BARS.read_text("utf-8"))


def bars() -> dict[str, int]:
    """Return the present value of each bar."""
    return {name: changes[-1]["value"] for name, changes in bar_changes().items()}


async def a_plain_task(dsn: str, connection: psycopg.Connection[Any]) -> list[Recording]:
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
            recordings.append(recording.copy())
        connection.execute(END_SESSIONS)
        worker.stop(now=True)
        await asyncio.wait_for(running, PATIENCE)
    return recordings


async def one_statement(dsn: str) -> dict[str, set[str]]:
    """Send a statement on a worker's session that is already connected."""
    session = DatabaseSessions(dsn, deadline=PATIENCE).open("walks")
    statement = Statement(query="select 1", read=single)
    try:
        await session.run(statement)
        with profiler() as recording:
            await session.run(statement)
            functions = functions_by_file(set(recording.calls) - {single.__code__})
    finally:
        await session.close()
    return functions


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
            functions = functions_by_file(set(recording.calls))
    if not answer.is_redirect:
        raise SetupError(f"the response to a click on Retry was {answer.status_code}")
    return functions


@contextmanager
def profiler() -> Iterator[Recording]:
    """Record the called functions, in this thread and in those that start meanwhile."""
    recording = Recording()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            if frame.f_code.co_filename.startswith(PACKAGE):
                recording.calls.append(frame.f_code)
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
    for code in codes:
        if not code.co_name.startswith("<"):
            place = str(Path(code.co_filename).relative_to(ROOT))
            files.setdefault(place, set()).add(code.co_qualname)
    return files


def count(files: dict[str, set[str]]) -> int:
    """Return the number of functions in all files."""
    return sum(map(len, files.values()))


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
