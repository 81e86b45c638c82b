"""On Windows a program can declare and enqueue; unsupported features are rejected. Simulated on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Imports of other libraries come first: they inspect the platform, not the modules that are removed below.
AS_ON_WINDOWS = """
import asyncio, concurrent.futures, ctypes, logging.handlers, multiprocessing.connection, os, signal, sys
import msgspec, psutil, psycopg, psycopg_pool, typer

fork, exit_code = os.fork, os.waitstatus_to_exitcode
for name in ("fcntl", "pwd", "grp", "resource", "termios", "pty", "uvloop"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGKILL", "SIGQUIT", "SIGALRM"):
    delattr(signal, name)
for name in ("fork", "geteuid", "getuid", "getegid", "killpg", "register_at_fork"):
    delattr(os, name)
sys.platform = "win32"
"""
# Each program runs in a copy of the process, so that the other libraries are imported once. It writes to two files.
EACH = """
import json
programs, codes = json.load(sys.stdin), []
for number, program in enumerate(programs):
    child = fork()
    if not child:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream)
        break
    codes.append(exit_code(os.waitpid(child, 0)[1]))
else:
    print(json.dumps(codes))
    sys.exit()
exec(program)
"""
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
SUPPORTED = (
    "from rolecall import App, AsyncClient, Client, Context, Worker, WorkerOptions",
    f"from rolecall import Client; Client({NOWHERE!r}).close()",
    "import rolecall.audit, rolecall.cli, rolecall.web",
    "from rolecall import App\napp = App('shop')\n@app.task(role='sums')\ndef double(n: int) -> int:\n    return 2 * n",
)
UNSUPPORTED = {
    f"from rolecall import App, Worker; Worker(App('shop'), {NOWHERE!r})": (
        "a worker needs Linux or macOS: run it in WSL or in a container"
    ),
    "import os; os.environ.pop('DATABASE_URL', None); from rolecall import Client; Client().enqueue('greet')": (
        "the embedded server needs Linux or macOS: name a Postgres by DATABASE_URL"
    ),
}
COMMANDS = {
    name: f"from rolecall.cli.main import run; sys.exit(run([{name!r}]))" for name in ("worker", "up", "serve", "tasks")
}
Done = subprocess.CompletedProcess[str]
OnWindows = Callable[[str], Done]


@pytest.fixture(scope="module")
def on_windows(tmp_path_factory: pytest.TempPathFactory) -> OnWindows:
    """Run all programs; return the result of one."""
    folder = tmp_path_factory.mktemp("windows")
    programs = [*SUPPORTED, *UNSUPPORTED, *COMMANDS.values()]
    words = [sys.executable, "-c", AS_ON_WINDOWS + EACH]
    every = subprocess.run(
        words, input=json.dumps(programs), cwd=folder, check=True, capture_output=True, text=True, timeout=120
    )

    def result(number: int, code: int) -> Done:
        return subprocess.CompletedProcess(
            words, code, *(_text(folder / f"{number}.{name}") for name in ("out", "err"))
        )

    results = {programs[number]: result(number, code) for number, code in enumerate(json.loads(every.stdout))}
    return results.__getitem__


@pytest.mark.parametrize("program", SUPPORTED)
def test_declaring_and_enqueuing_are_supported(on_windows: OnWindows, program: str) -> None:
    done = on_windows(program)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("program", "sentence"), UNSUPPORTED.items())
def test_unsupported_function_is_rejected_with_an_alternative(
    on_windows: OnWindows, program: str, sentence: str
) -> None:
    done = on_windows(program)

    assert done.returncode == 1
    assert f"ConfigError: platform: {sentence}" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_command_exits_with_one_sentence(on_windows: OnWindows, command: str) -> None:
    done = on_windows(COMMANDS[command])

    assert done.returncode == 2
    assert done.stderr.startswith("rolecall: platform: this command needs Linux or macOS: run it in WSL")
    assert len(done.stderr.splitlines()) == 1


def _text(file: Path) -> str:
    return file.read_text("utf-8")
