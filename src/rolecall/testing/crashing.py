"""Have a real worker process die, or stand still, at a named place, to see what a program makes of that."""

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
from rolecall.testing.asking import ask
from rolecall.testing.databases import dsn_of, url_of

__all__ = ["FrozenWorker", "Place", "crash_worker", "frozen_worker"]

LOOK_SECONDS = 0.02
MOST_LINES = 30
MOST_RESCUED = 1_000
ENDS_WITHIN = 60.0


class Place(StrEnum):
    """Where a worker can be made to die, between the parts of its work; `die_here` marks others, in handlers.

    BEFORE_HANDLER: the task is claimed, its handler not called. BEFORE_COMPLETION: the handler has returned, and
    nothing of that is stored. AFTER_COMPLETION: its outcome is stored, by the worker or by a transaction of its own,
    and the worker has done nothing after that.
    """

    BEFORE_HANDLER = failpoints.AFTER_CLAIM
    BEFORE_COMPLETION = failpoints.BEFORE_FINISH
    AFTER_COMPLETION = failpoints.AFTER_FINISH


def crash_worker(
    app: str, database: str, *, at: Place | str, nth: int = 1, timeout: float = 60.0, rescue: bool = True
) -> dict[int, TaskState]:
    """Run a worker process that dies at a place, as by `kill -9`; return its tasks, and what became of them.

        crash_worker("shop:app", database, at="charged")  # die_here("charged") in the handler
        await drain(app, database)  # another worker does the rest
        assert charges == [7]

    `app` is what `rolecall worker --app` takes, and found where the test finds it. The worker does what is due, and
    dies when it comes to the place for the `nth` time. Its tasks are rescued, as whoever notices its death does (with
    `rescue=False` nobody has noticed: they stay until their leases run out): the attempts count, and the retry policy
    says when the next ones come. Raises AssertionError, with its log, where it ends otherwise, or has not died within
    `timeout` seconds.
    """
    with _started(app, database, _armed(at, nth)) as worker:
        worker.wait_for(lambda: worker.process.poll() is not None, timeout, f"die at {str(at)!r}")
        worker.require_end(failpoints.EXIT_CODE, at)
        return worker.lose_claims() if rescue else {}


@contextmanager
def frozen_worker(
    app: str, database: str, *, at: Place | str, nth: int = 1, timeout: float = 60.0
) -> Iterator[FrozenWorker]:
    """Run a worker process that stands still at a place for the block, and goes on after it until nothing is left.

        with frozen_worker("shop:app", database, at="charged") as worker:
            worker.lose_claims()  # its machine was paused: others have its tasks
            await drain(app, database)
        assert charges == [7]

    Words and errors are those of `crash_worker`; it also raises AssertionError where the process does not end well.
    """
    with _started(app, database, _armed(at, nth, failpoints.STOP)) as worker:
        worker.wait_for(worker.has_stopped, timeout, f"come to {str(at)!r}")
        if worker.process.poll() is not None:
            worker.require_end(None, at)
        yield worker
        if not worker.killed:
            worker.process.send_signal(signal.SIGCONT)
            worker.wait_for(lambda: worker.process.poll() is not None, ENDS_WITHIN, "end after that")
            worker.require_end(0, at)


@dataclass(slots=True, kw_only=True)
class FrozenWorker:
    """A worker process of a test."""

    process: subprocess.Popen[bytes]
    database: str
    name: str
    log: IO[bytes]
    killed: bool = False

    @property
    def worker_ids(self) -> list[int]:
        """Its numbers on the roll."""
        return ask(self.database, _ids_of(self.process.pid))

    def lose_claims(self) -> dict[int, TaskState]:
        """Let others have its tasks, as after a lease that ran out; return what became of each."""
        return ask(self.database, claims.rescue_workers(self.worker_ids, MOST_RESCUED))

    def cut_connections(self) -> int:
        """Have the server end its connections to the database; return how many there were."""
        return ask(self.database, _cut(self.name))

    def kill(self) -> None:
        """Kill it where it stands."""
        self.killed = True
        self.process.kill()
        self.process.wait()

    def has_stopped(self) -> bool:
        """Say whether it stands still, or has ended."""
        if self.process.poll() is not None:
            return True
        return psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED

    def wait_for(self, fact: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until something is so; raise AssertionError where it takes too long."""
        until = monotonic() + seconds
        while not fact():
            if monotonic() > until:
                raise AssertionError(f"the worker did not {what} within {seconds:g} s{self._told()}")
            sleep(LOOK_SECONDS)

    def require_end(self, code: int | None, at: Place | str) -> None:
        """Raise AssertionError unless it has ended so."""
        ended = self.process.returncode
        if ended == code:
            return
        if ended == 0:
            raise AssertionError(f"the worker did all that was to do, and never came to {str(at)!r}{self._told()}")
        raise AssertionError(f"the worker ended with code {ended}{self._told()}")

    def _told(self) -> str:
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()[-MOST_LINES:]
        return "\n  ".join(["; its log:", *lines]) if lines else ""


def _armed(at: Place | str, nth: int, action: str = "") -> str:
    if ":" in at:
        raise ValueError(f"the name of a place has no colon: {str(at)!r}")
    place = at if isinstance(at, Place) else f"{failpoints.HERE}{at}"
    return f"{place}:{nth}:{action}"


@contextmanager
def _started(app: str, database: str, failpoint: str) -> Iterator[FrozenWorker]:
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
    # It finds modules where the test does, not only in the folder that it starts in.
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
