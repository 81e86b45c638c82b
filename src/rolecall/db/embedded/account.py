"""The operating system user that Postgres runs as: ourselves, or, for root (whom Postgres refuses), somebody
harmless.

As root the data folder is handed to Postgres as an open descriptor and named `/proc/self/fd/N`: so the server
needs no way through the folders above (often 0700), no capability, and no `chmod` of what is not ours.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolecall.db.embedded.errors import RootNotSupported

CANDIDATES = ("postgres", "nobody")
DESCRIPTORS = Path("/proc/self/fd")


@dataclass(frozen=True, slots=True)
class Reached:
    """What a program is to call a folder, and the descriptors that it must inherit for that."""

    name: str
    descriptors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who runs the server; `prefix` is the command that turns us into that user."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The user's name, or its number where it has none."""
        return user_name(self.uid)

    @property
    def is_other(self) -> bool:
        """Whether the server runs as somebody else than this process."""
        return bool(self.prefix)

    @contextmanager
    def reach(self, folder: Path) -> Iterator[Reached]:
        """Name a folder of the user's so that he can use it wherever it stands."""
        if not self.is_other:
            yield Reached(str(folder))
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield Reached(str(DESCRIPTORS / str(descriptor)), (descriptor,))
        finally:
            os.close(descriptor)

    def give(self, path: Path) -> None:
        """Make the user the owner of a file or folder that we made."""
        if self.is_other:
            os.chown(path, self.uid, self.gid)

    def give_descriptor(self, descriptor: int) -> None:
        """Make the user the owner of an open pipe, so that it may open it again by name."""
        if self.is_other:
            os.fchown(descriptor, self.uid, self.gid)


def server_account(existing_data: Path | None) -> Account:
    """Choose the user: ourselves; as root the owner of the existing data, else `postgres`, else `nobody`.

    Raises `RootNotSupported`.
    """
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid())
    return _account_for_root(existing_data)


def user_name(uid: int) -> str:
    """The name of a user, or its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _account_for_root(existing_data: Path | None) -> Account:
    setpriv = shutil.which("setpriv")
    if setpriv is None or not DESCRIPTORS.is_dir():
        raise RootNotSupported("changing the user needs Linux with /proc and setpriv (package util-linux)")
    uid, gid = _owner_of(existing_data) if existing_data else _harmless_user()
    return Account(uid=uid, gid=gid, prefix=(setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--"))


def _owner_of(data: Path) -> tuple[int, int]:
    owner = data.stat()
    if owner.st_uid == 0:
        raise RootNotSupported(f"{data} belongs to root")
    return owner.st_uid, owner.st_gid


def _harmless_user() -> tuple[int, int]:
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise RootNotSupported(f"none of the users {', '.join(CANDIDATES)} exists")
