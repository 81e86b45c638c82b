"""Real processes that attach, and functions to inspect and kill what they started."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil
import psycopg

from rolecall.embedded.home import Home
from rolecall.embedded.process import is_alive, running_postmaster, stop, wait_until

HERE = Path(__file__).parent
ATTACHER, WRITER = HERE / "attacher.py", HERE / "writer.py"
PATIENCE = 90.0


class Attached:
    """A child process that is attached or about to attach."""

    def __init__(
        self,
        data_dir: Path,
        *,
        python: Sequence[str] = (sys.executable,),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._facts: dict[str, Any] | None = None
        self._process = subprocess.Popen(
            [*python, str(ATTACHER), str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def facts(self) -> dict[str, Any]:
        """Return the line printed after attaching or failing."""
        if self._facts is None:
            assert self._process.stdout is not None
            self._facts = json.loads(self._process.stdout.readline() or b"{}")
        return self._facts

    @property
    def server_pid(self) -> int:
        return int(self.facts["pid"])

    @property
    def dsn(self) -> str:
        return str(self.facts["dsn"])

    def leave(self) -> int:
        """Make the process detach and exit; return its exit status."""
        with self._process:
            self._process.communicate(timeout=PATIENCE)
        return self._process.returncode

    def kill(self) -> None:
        """Kill the process as `kill -9` does, unless it has exited."""
        with self._process:
            self._process.kill()


Attach = Callable[..., Attached]


def cluster(data_dir: Path) -> Path:
    """Return the folder of the cluster, which must exist."""
    newest = Home.under(data_dir).newest_cluster()
    assert newest is not None
    return newest[1]


def server_pid(data_dir: Path) -> int | None:
    """Return the process id of the running server, if any."""
    postmaster = running_postmaster(cluster(data_dir))
    return postmaster.pid if postmaster else None


def server_log(data_dir: Path) -> str:
    """Return the complete server log of the cluster."""
    return "".join(log.read_text() for log in sorted((cluster(data_dir) / "log").glob("*.log")))


def fast_shutdowns(data_dir: Path) -> int:
    """Count the fast shutdowns in the server's log, which can be written shortly after the server exits."""
    return server_log(data_dir).count("received fast shutdown request")


def kill_server(data_dir: Path) -> None:
    """Kill the postmaster and its backends at the same time."""
    postmaster = server_pid(data_dir)
    assert postmaster is not None
    family = [psutil.Process(postmaster), *psutil.Process(postmaster).children(recursive=True)]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    assert wait_until(lambda: not any(is_alive(process.pid) for process in family), PATIENCE)


def stop_leftovers(data_dir: Path) -> None:
    """Stop any server that the test left running."""
    home = Home.under(data_dir)
    newest = home.newest_cluster() if home.folder.exists() else None
    if newest is not None:
        stop(newest[1], PATIENCE)


def is_gone(pid: int) -> bool:
    """Return whether the process exits within the time that a shutdown can take."""
    return wait_until(lambda: not is_alive(pid), PATIENCE)


def do(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


def ask(dsn: str, query: str) -> Any:
    """Return the first value of a query."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None
