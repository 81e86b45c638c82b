"""Which process is which on this machine, and whether one has gone: told from /proc, so on Linux only.

A pid means something within one boot and one pid namespace; within them, the moment at which a process began tells it
from a later one of the same pid. Elsewhere nothing is known, and so no process is ever said to have gone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rolecall.model.workers import ProcessIdentity

__all__ = ["has_gone", "own_process"]

PROC = Path("/proc")
ENDED = frozenset("ZX")
# After the name in brackets, which may hold anything: the state is the third field, the beginning the 22nd.
STATE, STARTED = 0, 19


def own_process() -> ProcessIdentity | None:
    """Return which process this is; None where that cannot be told."""
    pid = os.getpid()
    try:
        # Where /proc is that of another pid namespace, it speaks of others under our pid.
        if (PROC / "self").readlink() != Path(str(pid)):
            return None
        boot = (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return None
    found = _status(pid)
    return None if found is None else ProcessIdentity(f"{boot}/{namespace}", pid, found.started)


def has_gone(pid: int, started: int) -> bool:
    """Say whether the process that began then has ended for certain; it must be of this process's own space."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    found = _status(pid)
    return found is not None and (found.ended or found.started != started)


@dataclass(frozen=True, slots=True)
class _Status:
    started: int
    ended: bool


def _status(pid: int) -> _Status | None:
    try:
        text = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return _Status(int(fields[STARTED]), fields[STATE] in ENDED)
