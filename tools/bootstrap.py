"""Creates `.venv` with only a Python and pip's index settings, or quickly finds that it is up to date.

Runs before anything is installed, so it uses only the standard library. It writes only to `.venv` and `.tools` in
the work tree, which git ignores, and to the caches of pip and uv.
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

from tools.errors import SetupError, run_or_fail
from tools.pip_wheel import find_pip
from tools.uv import Uv, home_for, tools_folder

__all__ = ["SetupError", "ensure"]

LOCKS = ("locks/bootstrap.lock", "locks/dev.lock")
"""pip and uv at the versions that we know; and what develops, tests and runs."""
PROJECTS = (".", "packages/rolecall-import", "apps/storecrawl")
INPUTS = (*LOCKS, *(f"{project}/pyproject.toml" for project in PROJECTS), "tools/bootstrap.py")


def ensure(root: Path, *, announce: bool = False) -> None:
    """Bring `.venv` up to date. Many processes may call it at once. Raises SetupError."""
    if is_current(root):
        if announce:
            print_step(".venv is up to date")
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
    """Return the venv's path and a digest of the locked packages. A moved venv does not work."""
    digest = hashlib.sha256(b"".join((root / name).read_bytes() for name in INPUTS))
    return f"{root}\n{digest.hexdigest()}\n"


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the exclusive lock for changing `.venv`, which the kernel releases if the process dies."""
    try:
        tools_folder(root).mkdir(exist_ok=True)
        lock = (tools_folder(root) / "setup.lock").open("a")
    except OSError as error:
        raise SetupError(f"cannot write to {root} ({error.strerror}); run ./dev setup as its owner") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_step("waiting for another ./dev setup")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(root: Path) -> None:
    started = time.monotonic()
    if not is_mendable(root):
        print_step(f"creating .venv with {base_interpreter()}")
        make_empty(root)
    stamp_of(root).unlink(missing_ok=True)
    locks = [str(root / name) for name in LOCKS]
    print_step(f"installing the packages of {LOCKS[1]}")
    try:
        Uv.find(root).run("pip", "sync", "--quiet", "--require-hashes", "--python", str(python_of(root)), *locks)
    except SetupError:
        print_step("uv failed; trying pip, which takes longer")
        run_pip(root, "--require-hashes", "--no-deps", *(word for lock in locks for word in ("-r", lock)))
    print_step("installing the projects of this work tree")
    editables = [word for project in PROJECTS for word in ("--editable", str(root / project))]
    run_pip(root, "--no-index", "--no-deps", "--no-build-isolation", *editables)
    stamp_of(root).write_text(wanted_stamp(root))
    print_step(f".venv is ready after {time.monotonic() - started:.1f} s")


def make_empty(root: Path) -> None:
    """Create a venv with only the pip and uv of our lock file."""
    venv = [base_interpreter(), "-m", "venv", "--clear", "--without-pip", str(root / ".venv")]
    run_or_fail(venv, stdout=sys.stderr)
    with find_pip(tools_folder(root)) as (pip, options):
        run_pip(root, "--require-hashes", *options, "-r", str(root / LOCKS[0]), pip=str(pip))


def run_pip(root: Path, *words: str, pip: str = "") -> None:
    """Run `pip install` for the venv, with its own pip or with one in a wheel."""
    program = [f"{pip}/pip"] if pip else ["-m", "pip"]
    index = os.environ.get("UV_DEFAULT_INDEX")
    environment = ({"PIP_INDEX_URL": index} if index else {}) | os.environ | home_for(root)
    command = [str(python_of(root)), *program, "--disable-pip-version-check", "install", "-qq", *words]
    run_or_fail(command, env=environment, stdout=sys.stderr)


def is_mendable(root: Path) -> bool:
    """Return whether a venv can be updated: it was once completed at this path and still runs. Others are recreated."""
    try:
        here = stamp_of(root).read_text().startswith(f"{root}\n")
        check = [str(python_of(root)), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]
        return here and subprocess.run(check, check=False).returncode == 0
    except OSError:
        return False


def base_interpreter() -> str:
    """Return the interpreter behind this one: a venv must not be created from the venv that it replaces."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(base) if os.access(base, os.X_OK) else sys.executable


def print_step(what: str) -> None:
    """Print to stderr; stdout belongs to the verb's own command."""
    print(f"setup: {what}", file=sys.stderr, flush=True)
