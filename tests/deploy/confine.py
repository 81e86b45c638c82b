"""Runs a command under the system call filters of a unit in deploy/app, which systemd would install for it.

    python -m tests.deploy.confine UNIT COMMAND ...

Reads `SystemCallFilter`, `RestrictAddressFamilies`, `MemoryDenyWriteExecute`, `RestrictNamespaces` and `NoNewPrivileges`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

LIBRARY = "libseccomp.so.2"
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
MASKED_EQUAL, EQUAL = 7, 4
PR_SET_NO_NEW_PRIVS = 38
WRITE, EXECUTE, SHM_EXEC = 2, 4, 0o100000
# CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET.
NAMESPACES = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000


class Comparison(ctypes.Structure):
    """libseccomp's `struct scmp_arg_cmp`: an argument, an operator, and one or two operands."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def values_of(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)


def allowed_calls(unit: Path) -> set[str]:
    calls: set[str] = set()
    for value in values_of(unit, "SystemCallFilter"):
        named = {call for word in value.lstrip("~").split() for call in _expand(word)}
        calls = calls - named if value.startswith("~") else calls | named
    return calls


def _expand(word: str) -> Iterator[str]:
    if not word.startswith("@"):
        yield word
        return
    listing = subprocess.run(["systemd-analyze", "syscall-filter", word], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines()[1:]:
        if line.strip() and not line.strip().startswith("#"):
            yield from _expand(line.strip())


def conditions_of(unit: Path) -> dict[str, list[Comparison]]:
    """Return the arguments with which a call is allowed, for the calls that are not always allowed."""
    [families] = values_of(unit, "RestrictAddressFamilies")
    found = {"socket": [Comparison(0, EQUAL, getattr(socket, each), 0) for each in families.split()]}
    if values_of(unit, "RestrictNamespaces") == ["yes"]:
        found["clone"] = [Comparison(0, MASKED_EQUAL, NAMESPACES, 0)]
    if values_of(unit, "MemoryDenyWriteExecute") == ["yes"]:
        found["mmap"] = [Comparison(2, MASKED_EQUAL, WRITE | EXECUTE, some) for some in (0, WRITE, EXECUTE)]
        found["mprotect"] = found["pkey_mprotect"] = [Comparison(2, MASKED_EQUAL, EXECUTE, 0)]
        found["shmat"] = [Comparison(2, MASKED_EQUAL, SHM_EXEC, 0)]
    return found


def confine(unit: Path) -> None:
    """Restrict this process and its children; there is no way back."""
    conditions = conditions_of(unit)
    library = ctypes.CDLL(LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    filters = ctypes.c_void_p(library.seccomp_init(REFUSE | errno.EPERM))
    add = partial(library.seccomp_rule_add_array, filters)
    for call in allowed_calls(unit):
        number = library.seccomp_syscall_resolve_name(call.encode())
        if call == "clone3":
            add(REFUSE | errno.ENOSYS, number, 0, None)  # its flags are in memory, so systemd has callers use clone
        elif number >= 0:
            for comparison in conditions.get(call, [None]):
                add(ALLOW, number, int(comparison is not None), comparison and ctypes.byref(comparison))
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if failed := library.seccomp_load(filters):
        raise OSError(-failed, os.strerror(-failed))


if __name__ == "__main__":
    confine(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
