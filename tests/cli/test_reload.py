"""`--reload`: changed code runs in a new process, and no running task is lost."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import psutil
import pytest

from rolecall.cli.reload import is_own_code
from tests.cli.conftest import Run
from tests.cli.processes import Served, Spawn, document, ended, read_until, runs, until

SHOP = """
from __future__ import annotations

from pathlib import Path
from time import sleep

from rolecall import App

app = App("shop")


@app.task(role="sums", max_attempts=1)
def answer(wait: bool = False) -> int:
    Path("begun").touch()
    while wait and not Path("go").exists():
        sleep(0.02)
    return {answer}
"""


@pytest.fixture
def shop(folder: Path) -> Path:
    write(folder, 1)
    return folder


def write(folder: Path, answer: object) -> None:
    (folder / "shop.py").write_text(SHOP.replace("{answer}", str(answer)))


def postmaster(folder: Path) -> str:
    """The process id of the embedded server."""
    [file] = (folder / "rolecall-data").rglob("postmaster.pid")
    return file.read_text().splitlines()[0]


def answered(cli: Run) -> object:
    done = cli("enqueue", "answer", "--role", "sums", "--wait", "50", "--json")
    return done.json["task"]["result"]


def test_changed_code_runs_in_a_fresh_process(cli: Run, spawn: Spawn, shop: Path, dsn: str) -> None:
    worker = spawn("worker", "--app", "shop:app", "--reload", DATABASE_URL=dsn)
    read_until(worker, "Starting worker")
    [first] = psutil.Process(worker.pid).children()

    write(shop, 2)

    assert "shop.py changed" in read_until(worker, "Starting worker")
    assert answered(cli) == 2
    assert not runs(first.pid)
    worker.send_signal(signal.SIGTERM)
    assert ended(worker).code == 0
    assert cli("workers", "list", "--json").json == []


def test_running_tasks_finish_before_the_new_code_starts(cli: Run, spawn: Spawn, shop: Path, dsn: str) -> None:
    worker = spawn("worker", "--app", "shop:app", "--reload", DATABASE_URL=dsn)
    task_id = cli("enqueue", "answer", '{"wait": true}', "--role", "sums", "--json").json["id"]
    until((shop / "begun").exists, "the handler begins")

    write(shop, 2)
    read_until(worker, "stopping, running tasks may finish")
    (shop / "go").touch()
    read_until(worker, "Starting worker")

    shown = cli("tasks", "show", task_id, "--json").json["task"]
    assert (shown["state"], shown["result"], shown["attempt"]) == ("completed", 1, 1)
    assert answered(cli) == 2


def test_import_error_is_reported_with_file_and_line_and_retried_on_change(
    cli: Run, spawn: Spawn, shop: Path, dsn: str
) -> None:
    write(shop, "1 +")
    worker = spawn("worker", "--app", "shop:app", "--reload", DATABASE_URL=dsn)

    assert "SyntaxError: invalid syntax (shop.py, line 17)" in read_until(worker, "restarts when the code changes")
    write(shop, 3)

    read_until(worker, "Starting worker")
    assert answered(cli) == 3


def test_up_keeps_its_address_and_database_while_everything_else_restarts(spawn: Spawn, shop: Path) -> None:
    up = spawn("up", "--app", "shop:app", "--reload", "--json", ROLECALL_HTTP="127.0.0.1:0")
    before = document(up)
    server = postmaster(shop)

    write(shop, 2)
    after = document(up)

    token = Path(str(after["token_file"])).read_text().strip()
    assert after["http"] == before["http"]
    assert Served(str(after["http"]), token).get("/healthz").status_code == 200
    assert postmaster(shop) == server
    up.send_signal(signal.SIGINT)
    assert ended(up).code == 0


def test_files_in_a_virtual_environment_are_not_watched(tmp_path: Path) -> None:
    (tmp_path / "env" / "lib").mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").touch()

    assert not is_own_code(tmp_path / "env" / "lib" / "thing.py")
    assert is_own_code(tmp_path / "shop.py")


def test_missing_extra_is_reported_with_installation_advice(
    bare: Run, monkeypatch: pytest.MonkeyPatch, dsn: str
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)

    done = bare("worker", "--app", "shop:app", "--reload", "--database-url", dsn)

    assert done.code == 2
    assert "pip install 'rolecall[reload]'" in done.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("worker", "--app", "shop:app", "--reload", "--until-idle"), "--until-idle: cannot be combined with --reload"),
        (("worker", "--app", "shop:app", "--reload-dir", "src"), "--reload-dir: needs --reload"),
        (("worker", "--app", "shop:app", "--reload", "--reload-dir", "shop.py"), "--reload-dir: is not a folder"),
        (("up", "--reload"), "--reload: needs an App"),
    ],
)
def test_incompatible_options_are_rejected(cli: Run, words: tuple[str, ...], problem: str) -> None:
    done = cli(*words)

    assert done.code == 2
    assert problem in done.err
