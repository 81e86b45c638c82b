"""Kill or stop a real worker process at a given place, to test how a program recovers."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic, sleep
from typing import IO

import psutil
from psycopg.conninfo import make_conninfo

from rolecall.config import failpoints
from rolecall.model.states import TaskState
from rolecall.sql import claims
from rolecall.sql.statement import Statement, firsts, single
from rolecall.testing.asking import run_query
from rolecall.testing.databases import dsn_of, url_of

LOOK_SECONDS = 0.02
MOST_LINES = 30
MOST_RESCUED = 1_000
ENDS_WITHIN = 60.0


class Place(StrEnum):
    """Where a worker can be killed. `die_here` marks additional places in handlers.

    BEFORE_HANDLER: the task is claimed, the handler has not been called. BEFORE_COMPLETION: the handler has returned,
    the outcome is not stored. AFTER_COMPLETION: the outcome is stored, and nothing has happened since.
    """

    BEFORE_HANDLER = failpoints.AFTER_CLAIM
    BEFORE_COMPLETION = failpoints.BEFORE_FINISH
    AFTER_COMPLETION = failpoints.AFTER_FINISH


def crash_worker(
    app: str, database: str, *, at: Place | str, nth: int = 1, timeout: float = 60.0, rescue: bool = True
) -> dict[int, TaskState]:
    """Run a worker process that is killed at a place, as by `kill -9`. Return its tasks with their outcomes.

        crash_worker("shop:app", database, at="charged")  # die_here("charged") in the handler
        await drain(app, database)  # another worker does the rest
        assert charges == [7]

    `app` is the value of `rolecall worker --app`, found on the test's import path. The worker runs due tasks and dies
    when it reaches the place for the `nth` time. Its tasks are then rescued: the attempts count, and the retry policy
    applies. With `rescue=False`, they stay with the dead worker until their leases expire. Raises AssertionError with
    the worker's log if it ends otherwise or has not died within `timeout` seconds.
    """
    with _start(app, database, _failpoint(at, nth)) as worker:
        worker.wait_for(lambda: worker.process.poll() is not None, timeout, f"die at {str(at)!r}")
        worker.require_end(failpoints.EXIT_CODE, at)
        return worker.lose_claims() if rescue else {}


@contextmanager
def frozen_worker(
    app: str, database: str, *, at: Place | str, nth: int = 1, timeout: float = 60.0
) -> Iterator[FrozenWorker]:
    """Run a worker process that stops at a place for the duration of the block. Afterwards it works until idle.

        with frozen_worker("shop:app", database, at="charged") as worker:
            worker.lose_claims()  # its machine was paused: others have its tasks
            await drain(app, database)
        assert charges == [7]

    Arguments and errors are those of `crash_worker`. Also raises AssertionError if the process then exits with an
    error.
    """
    with _start(app, database, _failpoint(at, nth, failpoints.STOP)) as worker:
        worker.wait_for(worker.has_stopped, timeout, f"come to {str(at)!r}")
        if worker.process.poll() is not None:
            worker.require_end(None, at)
        yield worker
        if not worker.killed:
            worker.process.send_signal(signal.SIGCONT)
            worker.wait_for(lambda: worker.process.poll() is not None, ENDS_WITHIN, "end afterwards")
            worker.require_end(0, at)


@dataclass(slots=True, kw_only=True)
class FrozenWorker:
    """A stopped worker process."""

    process: subprocess.Popen[bytes]
    database: str
    name: str
    log: IO[bytes]
    killed: bool = False

    @property
    def worker_ids(self) -> list[int]:
        return run_query(self.database, _ids_of(self.process.pid))

    def lose_claims(self) -> dict[int, TaskState]:
        """Rescue its tasks, as after an expired lease. Return the outcome of each."""
        return run_query(self.database, claims.rescue_workers(self.worker_ids, MOST_RESCUED))

    def cut_connections(self) -> int:
        """Terminate its database connections. Return their number."""
        return run_query(self.database, _cut(self.name))

    def kill(self) -> None:
        self.killed = True
        self.process.kill()
        self.process.wait()

    def has_stopped(self) -> bool:
        """Return whether it is stopped or has ended."""
        if self.process.poll() is not None:
            return True
        return psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED

    def wait_for(self, fact: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait for a condition. Raises AssertionError after the timeout."""
        until = monotonic() + seconds
        while not fact():
            if monotonic() > until:
                raise AssertionError(f"the worker did not {what} within {seconds:g} s{self._output()}")
            sleep(LOOK_SECONDS)

    def require_end(self, code: int | None, at: Place | str) -> None:
        """Raise AssertionError unless the process has ended with this code."""
        ended = self.process.returncode
        if ended == code:
            return
        if ended == 0:
            raise AssertionError(f"the worker finished all tasks without reaching {str(at)!r}{self._output()}")
        raise AssertionError(f"the worker ended with code {ended}{self._output()}")

    def _output(self) -> str:
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()[-MOST_LINES:]
        return "\n  ".join(["; its log:", *lines]) if lines else ""


def _failpoint(at: Place | str, nth: int, action: str = "") -> str:
    if ":" in at:
        raise ValueError(f"the name of a place cannot contain a colon: {str(at)!r}")
    place = at if isinstance(at, Place) else f"{failpoints.HERE}{at}"
    return f"{place}:{nth}:{action}"


@contextmanager
def _start(app: str, database: str, failpoint: str) -> Iterator[FrozenWorker]:
    name = f"rolecall:testing:{secrets.token_hex(4)}"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "rolecall", "worker", "--app", app, "--until-idle"],
            env=_environment(database, name, failpoint),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield FrozenWorker(process=process, database=dsn_of(database), name=name, log=log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def _environment(database: str, name: str, failpoint: str) -> Mapping[str, str]:
    # The process imports modules from the test's path, not only from its working directory.
    found = os.pathsep.join([str(Path(place).absolute()) for place in sys.path])
    return os.environ | {
        "DATABASE_URL": url_of(make_conninfo(dsn_of(database), application_name=name)),
        failpoints.VARIABLE: failpoint,
        "PYTHONPATH": found,
    }


def _ids_of(pid: int) -> Statement[list[int]]:
    return Statement(
        query="select id from rolecall.workers where pid = %s::int and stopped_at is null order by id",
        params=(pid,),
        read=firsts,
    )


def _cut(name: str) -> Statement[int]:
    return Statement(
        query="select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where datname = current_database() and application_name = %s::text",
        params=(name,),
        read=single,
    )
