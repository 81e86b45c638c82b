"""The Pythons of this machine, each with Rolecall's dependencies. Unavailable versions are skipped."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.errors import SetupError
from tools.offences import ROOT
from tools.uv import Uv, tools_folder

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
PYENV = Path.home() / ".pyenv" / "versions"
LOCK = ROOT / "locks" / "run.lock"
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def interpreters() -> dict[str, Path]:
    """Return the newest release of each supported version that is installed here."""
    found = {}
    for version in SUPPORTED:
        name = f"python{version}"
        kept = sorted(PYENV.glob(f"{version}.*/bin/{name}"), key=lambda path: path.stat().st_mtime)
        for candidate in (*reversed(kept), *([Path(which)] if (which := shutil.which(name)) else [])):
            if _said(candidate) == version:
                found[version] = candidate
                break
    return found


def environment(version: str) -> Path:
    """Return the Python of an environment with all locked packages and this work tree. It is kept in `.tools`.

    Raises SetupError if something is not available.
    """
    tools_folder(ROOT).mkdir(exist_ok=True)
    folder = tools_folder(ROOT) / f"python-{version}"
    python = folder / "bin" / "python"
    stamp = folder / "stamp"
    wanted = hashlib.sha256(LOCK.read_bytes() + str(ROOT).encode()).hexdigest()
    with (tools_folder(ROOT) / f"python-{version}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == wanted and _said(python) == version):
            uv = Uv.find(ROOT)
            uv.run("venv", "--quiet", "--clear", "--python", str(interpreters()[version]), str(folder))
            uv.run("pip", "sync", "--quiet", "--require-hashes", "--python", str(python), str(LOCK))
            [packages] = folder.glob("lib/python*/site-packages")
            (packages / "rolecall.pth").write_text(f"{ROOT / 'src'}\n")
            stamp.write_text(wanted)
    return python


@pytest.fixture(params=SUPPORTED)
def python(request: pytest.FixtureRequest) -> Path:
    """Each Python of this machine, with Rolecall's dependencies."""
    version = str(request.param)
    if version not in interpreters():
        pytest.skip(f"Python {version} is not installed")
    try:
        return environment(version)
    except SetupError as error:
        pytest.skip(f"Python {version} lacks packages that are not available: {error}")


def _said(python: Path) -> str:
    if not os.access(python, os.X_OK):
        return ""
    done = subprocess.run([python, "-c", VERSION], check=False, capture_output=True, text=True)
    return done.stdout.strip()
