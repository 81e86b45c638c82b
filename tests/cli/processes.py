"""Helpers for commands that run in their own process."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from tests.cli.conftest import Result

Spawn = Callable[..., subprocess.Popen[str]]

DEADLINE = 60.0


def until(fact: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not fact():
        assert time.monotonic() < deadline, f"did not happen: {what}"
        time.sleep(0.05)


def document(process: subprocess.Popen[str]) -> dict[str, object]:
    """Return the document that `--json` writes when the database is available."""
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        text += line
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """Return the lines on stderr up to the one with these words."""
    assert process.stderr is not None
    text = ""
    while words not in text:
        line = process.stderr.readline()
        assert line, f"the process exited without writing {words!r}: {text}"
        text += line
    return text


@dataclass(frozen=True, slots=True)
class Served:
    """The address of a process's API, and the local token."""

    url: str
    token: str

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """Send a GET request with the local token."""
        return httpx2.get(f"{self.url}{path}", headers=self.headers | headers, timeout=30)

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


def served(process: subprocess.Popen[str]) -> Served:
    """Return the API of a process that was started with `--json`."""
    result = document(process)
    return Served(str(result["http"]), Path(str(result["token_file"])).read_text(encoding="ascii").strip())


def runs(pid: int) -> bool:
    """Return whether the process runs, and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ended(process: subprocess.Popen[str]) -> Result:
    out, err = process.communicate(timeout=DEADLINE)
    return Result(process.returncode, out, err)
