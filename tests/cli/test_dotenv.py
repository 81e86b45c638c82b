"""Variables from a `.env` file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolecall import ConfigError
from rolecall.cli.dotenv import load_dotenv


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory. The environment is restored after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", {"SLOTS": "4", "EMPTY": ""})
    return tmp_path


def test_variables_of_the_environment_take_precedence(folder: Path) -> None:
    (folder / ".env").write_text("SLOTS=8\nEMPTY=1\nROLES=mail")

    load_dotenv()

    assert [os.environ[name] for name in ("SLOTS", "EMPTY", "ROLES")] == ["4", "", "mail"]


def test_virtual_environment_of_that_name_is_ignored(folder: Path) -> None:
    (folder / ".env").mkdir()

    load_dotenv()


def test_unreadable_file_is_reported(folder: Path) -> None:
    (folder / ".env").write_bytes(b"A=\xff")

    with pytest.raises(ConfigError, match="cannot be read"):
        load_dotenv()
