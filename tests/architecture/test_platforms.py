"""On Windows a program can declare and enqueue; unsupported features are rejected. Simulated on this machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Imports of other libraries come first: they inspect the platform, not the modules that are removed below.
AS_ON_WINDOWS = """
import asyncio, concurrent.futures, ctypes, logging.handlers, multiprocessing.connection, os, signal, sys
import msgspec, psutil, psycopg, psycopg_pool, typer

for name in ("fcntl", "pwd", "grp", "resource", "termios", "pty", "uvloop"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGKILL", "SIGQUIT", "SIGALRM"):
    delattr(signal, name)
for name in ("fork", "geteuid", "getuid", "getegid", "killpg", "register_at_fork"):
    delattr(os, name)
sys.platform = "win32"
"""
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


def on_windows(program: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", AS_ON_WINDOWS + program]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "program",
    [
        "from rolecall import App, AsyncClient, Client, Context, Worker, WorkerOptions",
        f"from rolecall import Client; Client({NOWHERE!r}).close()",
        "import rolecall.audit, rolecall.cli, rolecall.web",
        "from rolecall import App\napp = App('shop')\n@app.task(role='sums')\ndef double(n: int) -> int:\n    return 2 * n",
    ],
)
def test_declaring_and_enqueuing_are_supported(program: str) -> None:
    done = on_windows(program)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (
            f"from rolecall import App, Worker; Worker(App('shop'), {NOWHERE!r})",
            "a worker needs Linux or macOS: run it in WSL or in a container",
        ),
        (
            "from rolecall import Client; Client().enqueue('greet')",
            "the embedded server needs Linux or macOS: name a Postgres by DATABASE_URL",
        ),
    ],
)
def test_unsupported_function_is_rejected_with_an_alternative(program: str, sentence: str) -> None:
    done = on_windows(f"import os; os.environ.pop('DATABASE_URL', None); {program}")

    assert done.returncode == 1
    assert f"ConfigError: platform: {sentence}" in done.stderr


@pytest.mark.parametrize("command", ["worker", "up", "serve", "tasks"])
def test_command_exits_with_one_sentence(command: str) -> None:
    done = on_windows(f"from rolecall.cli.main import run; sys.exit(run([{command!r}]))")

    assert done.returncode == 2
    assert done.stderr.startswith("rolecall: platform: this command needs Linux or macOS: run it in WSL")
    assert len(done.stderr.splitlines()) == 1
