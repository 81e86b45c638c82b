"""The database's password is visible only to the programs that it is passed to."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, ended, served, until

WARNING = "can read the password in --database-url"


@pytest.fixture
def file(tmp_path: Path, dsn: str) -> Path:
    """A file with the address of the database."""
    file = tmp_path / "database-url"
    file.write_text(f"{dsn}\n")
    return file


def password_of(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["password"])


def words_below(up: Any) -> str:
    """Return the command lines of all descendants of a process."""
    return " ".join(word for each in psutil.Process(up.pid).children(recursive=True) for word in each.cmdline())


def test_database_url_can_be_read_from_a_file(bare: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_flag = bare("counts", "--database-url-file", file, "--json")
    monkeypatch.setenv("DATABASE_URL_FILE", str(file))
    by_variable = bare("counts", "--json")

    assert (by_flag.code, by_variable.code) == (0, 0)
    assert WARNING not in by_flag.err + by_variable.err


def test_file_flag_overrides_the_variable(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("postgresql://nobody@127.0.0.1:1/none")

    assert cli("counts", "--database-url-file", tmp_path / "elsewhere").code == 6


@pytest.mark.parametrize("content", [None, b"\xff", b"http://nowhere/secret"])
def test_file_without_a_database_url_is_rejected_and_not_repeated(
    bare: Run, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)

    done = bare("counts", "--database-url-file", tmp_path / "file")

    assert done.code == 2
    assert "--database-url-file" in done.err
    assert "secret" not in done.err


def test_password_on_the_command_line_prints_a_warning(bare: Run, dsn: str) -> None:
    done = bare("counts", "--database-url", dsn)

    assert done.code == 0
    assert WARNING in done.err
    assert password_of(dsn) not in done.err


def test_database_url_without_a_password_prints_no_warning(bare: Run) -> None:
    assert WARNING not in bare("counts", "--database-url", "postgresql://nobody@127.0.0.1:1/none").err


@pytest.mark.parametrize("flag", ["--database-url-file", "--database-url"])
def test_up_passes_the_password_in_the_environment(spawn: Spawn, cli: Run, dsn: str, file: Path, flag: str) -> None:
    where = str(file) if flag.endswith("-file") else dsn
    up = spawn("up", "--app", "shop:app", "--processes", "2", "--http", "127.0.0.1:0", flag, where, "--json")
    api = served(up)
    until(lambda: len(cli("workers", "list", "--json").json) == 2, "two workers are registered")
    until(lambda: api.get("/readyz").is_success, "the API answers")

    shown = words_below(up)
    up.send_signal(signal.SIGTERM)

    assert ended(up).code == 0
    assert shown.count(" worker ") == 2
    assert " serve " in shown
    assert password_of(dsn) not in shown
