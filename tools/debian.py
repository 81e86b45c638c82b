"""A temporary Postgres with Debian's default settings, and the tests of the SQL engine run on it.

It covers what the embedded server does not: an older major version, and JIT compilation. Only `fsync` is off in the
tests, none of which cuts the power.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir, mkdtemp

import psycopg

from rolecall.embedded.process import Account, server_account
from rolecall.testing import memory
from rolecall.testing.servers import VARIABLE
from tools.offences import ROOT
from tools.servers import Servers, find

SUPERUSER = "postgres"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
TESTS = "tests/sql"
THROW_AWAY = ("fsync=off",)


@contextmanager
def cluster(found: Servers, parent: str | None = None, settings: Iterable[str] = ()) -> Iterator[str]:
    """Create and start a cluster on a socket in its own folder, and yield its superuser's connection string.

    `settings` are passed to the server, each as `name=value`.
    """
    with private_folder(parent) as (folder, account):
        data = folder / "data"
        initdb = [
            str(found.postgres / "initdb"),
            "--locale=C.UTF-8",
            "--auth=trust",
            f"--username={SUPERUSER}",
            str(data),
        ]
        subprocess.run([*account.prefix, *initdb], cwd="/", env=environment(found), capture_output=True, check=True)
        with server(found, folder, account, settings) as dsn:
            yield dsn


@contextmanager
def server(found: Servers, folder: Path, account: Account, settings: Iterable[str] = ()) -> Iterator[str]:
    """Run the cluster in `data` of a folder, on a socket there; yield its superuser's connection string."""
    postgres: list[str | Path] = [found.postgres / "postgres", "-D", folder / "data", "-k", folder]
    for setting in ("listen_addresses=", *settings):
        postgres += ["-c", setting]
    dsn = f"host={folder} user={SUPERUSER} dbname=postgres"
    with run_server(postgres, found, account, dsn=dsn, stop=signal.SIGINT):
        yield dsn


@contextmanager
def private_folder(parent: str | None = None) -> Iterator[tuple[Path, Account]]:
    """Create a private folder, in memory if there is room, for servers that run as a user other than root."""
    account = server_account(None)
    parent = parent or (str(memory.MEMORY) if memory.room() else gettempdir())
    folder = Path(mkdtemp(prefix=f"{memory.PREFIX}servers-", dir=parent))
    account.give(folder)
    try:
        yield folder, account
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def run_server(
    command: Sequence[str | Path], found: Servers, account: Account, *, dsn: str, stop: signal.Signals
) -> Iterator[None]:
    """Run a server as that user and wait for its first answer. It ends with the block or with this process."""
    with_us = ["setpriv", f"--pdeathsig={stop.name[3:]}", "--"] if shutil.which("setpriv") else []
    whole = [*account.prefix, *with_us, *command]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(whole, cwd="/", env=environment(found), stdout=quiet, stderr=quiet) as server:
        try:
            _wait_for_an_answer(server, dsn)
            yield
        finally:
            server.send_signal(stop)
            server.wait(STOP_SECONDS)


def environment(found: Servers) -> dict[str, str]:
    """Return our environment, with additions for these programs."""
    return {**os.environ, **found.environment}


def _wait_for_an_answer(server: subprocess.Popen[bytes], dsn: str) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.02)


def main(arguments: list[str]) -> int:
    """Run `tests/sql`, or the named tests, on such a cluster; return 1 without Debian's Postgres."""
    found = find()
    if found is None:
        print("Debian's Postgres is not installed: run ./dev servers", file=sys.stderr)
        return 1
    named = any(Path(argument.partition("::")[0]).exists() for argument in arguments)
    with cluster(found, settings=THROW_AWAY) as dsn:
        command = [sys.executable, "-m", "pytest", *arguments, *([] if named else [TESTS])]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, VARIABLE: dsn}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
