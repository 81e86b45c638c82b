"""A Postgres server for the tests of the CLI, a migrated database for each, and two ways to run a command."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rolecall.cli.main import run

SHOP = """
from __future__ import annotations
from rolecall.app import App

app = App("shop")
number = 7


@app.task(role="sums")
def add(a: int, b: int) -> int:
    return a + b


@app.task(role="sums", max_attempts=1)
def stumble() -> None:
    raise ValueError("over a stone")
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def dsn(database: str) -> str:
    """A migrated database with one role, `sums`, and two handlers."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "select rolecall.declare(%s, %s)",
            ['[{"name": "sums"}]', '[{"name": "add", "role": "sums"}, {"name": "stumble", "role": "sums"}]'],
        )
    return database


@pytest.fixture
def sql(dsn: str) -> Callable[..., list[tuple[Any, ...]]]:
    def execute(query: str, *params: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(dsn, autocommit=True) as connection:
            cursor = connection.execute(query, params)
            return cursor.fetchall() if cursor.description else []

    return execute


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with shop.py. The only Rolecall variable that is set turns serving off.

    Tests write nothing to the home folder of the person who runs them.
    """
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("ROLECALL_", "WORKER_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("ROLECALL_HTTP", "off")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, without a DATABASE_URL."""

    def command(*arguments: object, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return command


@pytest.fixture
def cli(bare: Run, dsn: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, on a migrated database."""
    monkeypatch.setenv("DATABASE_URL", dsn)
    return bare


@pytest.fixture
def launch(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start any program as a process. It is killed at the end if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            list(map(str, words)),
            cwd=folder,
            env=dict(os.environ) | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def spawn(launch: Callable[..., subprocess.Popen[str]]) -> Callable[..., subprocess.Popen[str]]:
    """Start the real command as a process."""
    return partial(launch, sys.executable, "-m", "rolecall.cli")


@pytest.fixture
def execute(spawn: Callable[..., subprocess.Popen[str]]) -> Run:
    """Run the real command in a process until it exits."""

    def command(*arguments: object, **environment: str) -> Result:
        process = spawn(*arguments, **environment)
        out, err = process.communicate(timeout=50)
        return Result(process.returncode, out, err)

    return command
