"""Identifies the processes of this machine and detects their end, by reading /proc (Linux only).

A pid is meaningful within one boot and one pid namespace. There, the start time distinguishes a process from a
later one with the same pid. On other systems, no process is ever reported as ended.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rolecall.model.workers import ProcessIdentity

PROC = Path("/proc")
ENDED = frozenset("ZX")
# Indexes after the name in parentheses, which may contain anything: the state (field 3) and start time (field 22).
STATE, STARTED = 0, 19


def own_process() -> ProcessIdentity | None:
    """Return the identity of this process, or None if it cannot be determined."""
    pid = os.getpid()
    try:
        # If /proc belongs to another pid namespace, our pid is that of another process there.
        if (PROC / "self").readlink() != Path(str(pid)):
            return None
        boot = (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return None
    found = _status(pid)
    return None if found is None else ProcessIdentity(f"{boot}/{namespace}", pid, found.started)


def has_ended(pid: int, started: int) -> bool:
    """Return whether a process has certainly ended. It must be of this process's own space."""
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
