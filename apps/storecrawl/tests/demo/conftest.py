"""A folder in which the real command runs, and whose processes can be listed, killed and counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from rolecall import EmbeddedServer

COMMAND = Path(sys.executable).with_name("storecrawl")
PATIENCE = 150.0
# Each look at the processes or the database takes CPU from the demo.
POLL_SECONDS = 0.1
KINDS = ("main", "worker", "api", "upstream", "postgres")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a demo that has ended."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        assert self.out, f"exit {self.code}: {self.err}"
        summary: dict[str, Any] = json.loads(self.out)
        return summary


def eventually(fact: Callable[[], Any], seconds: float = PATIENCE, pause: float = POLL_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < deadline, f"did not happen within {seconds} s: {fact}"
        time.sleep(pause)
    return found


class DemoFolder:
    def __init__(self, folder: Path) -> None:
        self.cwd = folder
        self.data = folder / "storecrawl-data"
        self._process: subprocess.Popen[str] | None = None

    def start(self, *flags: str, **environment: str) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [str(COMMAND), "demo", *flags],
            cwd=self.cwd,
            env={**os.environ, "DATABASE_URL": "", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self._process

    def end(self) -> Outcome:
        assert self._process is not None
        out, err = self._process.communicate(timeout=PATIENCE)
        return Outcome(code=self._process.returncode, out=out, err=err)

    def run(self, *flags: str, **environment: str) -> Outcome:
        self.start(*flags, **environment)
        return self.end()

    def processes(self, *kinds: str) -> list[psutil.Process]:
        """Return the running processes of these kinds: main, worker, api, upstream, postgres."""
        return [process for process in psutil.process_iter() if self._kind_of(process) in (kinds or KINDS)]

    def sees(self, query: str) -> Any:
        try:
            with psycopg.connect(self._running_dsn(), connect_timeout=2) as connection:
                return self._value(connection, query)
        except (OSError, psycopg.Error):
            return None

    def value(self, query: str) -> Any:
        with EmbeddedServer(self.data) as server, psycopg.connect(server.dsn()) as connection:
            return self._value(connection, query)

    def kill(self, *kinds: str) -> None:
        """Kill all processes, or those of these kinds, and wait for them; a running demo restarts them."""
        killed = self.processes(*kinds)
        for process in killed:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        eventually(lambda: not any(self._kind_of(process) for process in killed))

    def clear(self) -> None:
        """Kill all remaining processes and those that they have just started."""
        self.kill()
        if self._process is not None:
            self._process.communicate()
        while self.processes():
            self.kill()

    def expect_nothing_left(self) -> None:
        """Wait until nothing runs; the logger of Postgres may outlive its server by a moment."""
        assert self.processes("main", "worker", "api", "upstream") == []
        eventually(lambda: not self.processes())

    def _kind_of(self, process: psutil.Process) -> str:
        try:
            if process.status() == psutil.STATUS_ZOMBIE or not self._is_ours(process):
                return ""
            words = process.cmdline()
        except (psutil.NoSuchProcess, FileNotFoundError):  # the latter for one that is just ending
            return ""
        marks = {"storecrawl.demo.upstream": "upstream", "serve": "api", "rolecall": "worker", str(COMMAND): "main"}
        return next((kind for mark, kind in marks.items() if mark in words), "postgres")

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return Path(process.cwd()).is_relative_to(self.cwd)
        except psutil.AccessDenied:
            # For root, the server runs as another user and is recognized by its settings.
            return str(self.data) in " ".join(process.cmdline())

    def _running_dsn(self) -> str:
        home = self.data / "postgres"
        port, password = (home.joinpath(name).read_text().strip() for name in ("port", "password"))
        return f"postgresql://rolecall:{password}@127.0.0.1:{port}/rolecall"

    @staticmethod
    def _value(connection: psycopg.Connection[Any], query: str) -> Any:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoFolder]:
    folder = DemoFolder(tmp_path)
    yield folder
    folder.clear()
