"""Bringing the Postgres programs within reach of the user that runs them.

A virtual environment under a home of mode 0700 is closed to everybody but its owner. Opening the home is not
ours to do; so root copies the programs, once for the machine, to a folder that all may read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from rolecall.db.embedded.account import Account
from rolecall.db.embedded.binaries import Binaries
from rolecall.db.embedded.errors import BinariesUnreachable
from rolecall.db.embedded.locks import exclusive

SHARED = Path("/var/lib/rolecall")
COPY_SECONDS = 120.0
PROBE_SECONDS = 20


def within_reach(binaries: Binaries, account: Account, shared: Path = SHARED) -> Binaries:
    """The binaries themselves where the account can run them, else a copy under `shared`.

    Raises `BinariesUnreachable`.
    """
    if not account.is_other or _refusal(binaries, account) is None:
        return binaries
    copied = _copy_once(binaries, account, shared)
    refusal = _refusal(copied, account)
    if refusal is not None:
        raise BinariesUnreachable(copied.folder, account.name, refusal)
    return copied


def _refusal(binaries: Binaries, account: Account) -> str | None:
    """Why the account cannot run the programs, found out by running them; None when it can."""
    for program in (binaries.postgres, binaries.initdb):
        command = [*account.prefix, str(program), "--version"]
        try:
            subprocess.run(command, capture_output=True, cwd="/", timeout=PROBE_SECONDS, check=True)
        except subprocess.CalledProcessError as error:
            return error.stderr.decode(errors="replace").strip() or str(error)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return None


def _copy_once(binaries: Binaries, account: Account, shared: Path) -> Binaries:
    target = shared / f"pg-{binaries.version}-{_stamp(binaries)}"
    try:
        shared.mkdir(mode=0o755, parents=True, exist_ok=True)
        with exclusive(shared / "copy.lock", COPY_SECONDS):
            if not target.exists():
                _copy(binaries, target)
    except OSError as error:
        raise BinariesUnreachable(binaries.folder, account.name, f"cannot copy them to {target}: {error}") from error
    return replace(
        binaries,
        folder=target / binaries.folder.relative_to(binaries.base),
        base=target,
        trees=tuple(target / tree.relative_to(binaries.base) for tree in binaries.trees),
    )


def _stamp(binaries: Binaries) -> str:
    """Tells builds of the same version apart."""
    return hashlib.sha256(binaries.postgres.read_bytes()).hexdigest()[:12]


def _copy(binaries: Binaries, target: Path) -> None:
    unfinished = target.with_name(f"{target.name}.copying")
    shutil.rmtree(unfinished, ignore_errors=True)
    for tree in binaries.trees:
        shutil.copytree(tree, unfinished / tree.relative_to(binaries.base), symlinks=True)
    _let_all_read(unfinished)
    unfinished.rename(target)


def _let_all_read(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in files:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
