"""The plain script, in an environment with our wheel, as its README has it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.conftest import Make
from tests.examples.projects import Project

MYPY = [sys.executable, "-m", "mypy", "--strict", "--python-executable"]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath"]


@pytest.fixture(scope="session")
def script(make: Make) -> Project:
    return make("script", "rolecall[embedded]")


@pytest.mark.parametrize("checker", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_type_checker_reports_nothing(script: Project, checker: list[str]) -> None:
    command = [*checker, str(script.environment.programs / "python"), "checksums.py"]
    done = subprocess.run(command, cwd=script.folder, check=False, capture_output=True, text=True, timeout=280)

    assert done.returncode == 0, done.stdout + done.stderr


def test_script_prints_the_checksum_of_each_file(script: Project, tmp_path: Path) -> None:
    files = {tmp_path / "files" / name: name.encode() for name in ("a.txt", "b.txt", "c.txt")}
    (tmp_path / "files").mkdir()
    for path, content in files.items():
        path.write_bytes(content)

    with script.running("rolecall", "up", "--app", "checksums:app", "--slots", "4") as up:
        up.wait_for_line("Starting worker")
        result = script.run("python", "checksums.py", str(tmp_path / "files"))

    assert result.splitlines() == [f"{hashlib.sha256(content).hexdigest()}  {path}" for path, content in files.items()]
    assert up.process.returncode == 0
