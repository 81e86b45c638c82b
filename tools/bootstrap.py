"""Makes `.venv` from nothing but a Python and a package index, or finds in a blink that it is up to date.

Runs before anything is installed, so it uses the standard library only. All that it writes stands in the
work tree, in `.venv` and `.tools`, both ignored by git (uv's own cache apart, where there is a home for it).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools import uv
from tools.errors import SetupError

__all__ = ["SetupError", "ensure"]

LOCK_FILE = "requirements-dev.lock"
PROJECTS = (".", "apps/storecrawl")
INPUTS = (LOCK_FILE, "pyproject.toml", "apps/storecrawl/pyproject.toml", "tools/bootstrap.py")


def ensure(root: Path, *, announce: bool = False) -> None:
    """Bring `.venv` up to date; safe to call from many processes at once. Raises SetupError."""
    if is_current(root):
        if announce:
            say(".venv is up to date")
        return
    with alone(root):
        if not is_current(root):
            build(root)


def is_current(root: Path) -> bool:
    try:
        return python_of(root).exists() and stamp_of(root).read_text() == wanted_stamp(root)
    except OSError:
        return False


def python_of(root: Path) -> Path:
    return root / ".venv" / "bin" / "python"


def stamp_of(root: Path) -> Path:
    return root / ".venv" / "rolecall-stamp"


def wanted_stamp(root: Path) -> str:
    """The place and what was installed there; a moved venv is useless: its scripts name the old place."""
    digest = hashlib.sha256(b"".join((root / name).read_bytes() for name in INPUTS))
    return f"{root}\n{digest.hexdigest()}\n"


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the only right to change `.venv`; the kernel takes it back from a process that dies."""
    try:
        uv.tools_folder(root).mkdir(exist_ok=True)
        lock = (uv.tools_folder(root) / "setup.lock").open("a")
    except OSError as error:
        raise SetupError(f"cannot write in {root} ({error.strerror}); run ./dev setup as its owner") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another ./dev setup")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(root: Path) -> None:
    started = time.monotonic()
    make = uv.Uv.find(root, say)
    if not is_mendable(root):
        interpreter = base_interpreter()
        say(f"making .venv with {interpreter}")
        make.run("venv", "--quiet", "--clear", "--python", interpreter, str(root / ".venv"))
    stamp_of(root).unlink(missing_ok=True)
    into = ("--python", str(python_of(root)))
    say(f"installing what {LOCK_FILE} names")
    make.run("pip", "sync", *make.loudness(), "--require-hashes", *into, str(root / LOCK_FILE))
    say("installing rolecall and storecrawl from this work tree")
    editables = [word for project in PROJECTS for word in ("--editable", str(root / project))]
    make.run("pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation", *into, *editables)
    stamp_of(root).write_text(wanted_stamp(root))
    say(f".venv is ready after {time.monotonic() - started:.1f} s")


def is_mendable(root: Path) -> bool:
    """Only a venv that was finished once, in this very place, and still runs is mended, not made anew."""
    try:
        here = stamp_of(root).read_text().startswith(f"{root}\n")
        check = [str(python_of(root)), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        return here and subprocess.run(check, check=False).returncode == 0
    except OSError:
        return False


def base_interpreter() -> str:
    """The interpreter behind this one: a venv must not be made from the venv that it replaces."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(base) if os.access(base, os.X_OK) else sys.executable


def say(what: str) -> None:
    """Speak on stderr: stdout belongs to the verb's own command."""
    print(f"setup: {what}", file=sys.stderr, flush=True)
