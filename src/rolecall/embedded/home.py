"""The folder `<data dir>/postgres`: its files, who may use it, and durable writes."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from rolecall.embedded.errors import DataDirectoryOfAnotherUser, DataDirectoryUnusable
from rolecall.embedded.process import user_name

CLUSTER = re.compile(r"data-(?P<major>\d+)")
UNFINISHED = ".init"


@dataclass(frozen=True, slots=True)
class Home:
    """The paths and files in the folder."""

    folder: Path

    @classmethod
    def under(cls, data_dir: Path) -> Home:
        """Return the home in a data directory, without accessing it."""
        return cls(Path(os.path.realpath(data_dir)) / "postgres")

    def open(self) -> None:
        """Create the folder, or check that it is ours.

        Raises `DataDirectoryUnusable` and `DataDirectoryOfAnotherUser`.
        """
        us = os.geteuid()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            owner = self.folder.stat().st_uid
        except OSError as error:
            raise DataDirectoryUnusable(self.folder, f"{error.strerror} (as user {user_name(us)})") from error
        if owner != us:
            raise DataDirectoryOfAnotherUser(self.folder, user_name(owner), user_name(us))

    @property
    def attach_lock(self) -> Path:
        return self.folder / "attach.lock"

    @property
    def start_lock(self) -> Path:
        """The exclusive lock of a process that starts or stops the server."""
        return self.folder / "start.lock"

    @property
    def startup_log(self) -> Path:
        return self.folder / "startup.log"

    @property
    def port_file(self) -> Path:
        return self.folder / "port"

    @property
    def password_file(self) -> Path:
        return self.folder / "password"

    @property
    def superuser_password_file(self) -> Path:
        return self.folder / "superuser-password"

    @property
    def passfile(self) -> Path:
        return self.folder / "pgpass"

    def cluster_of(self, major: int) -> Path:
        return self.folder / f"data-{major}"

    def newest_cluster(self) -> tuple[int, Path] | None:
        """Return the finished cluster of the highest major version."""
        matches = [CLUSTER.fullmatch(path.name) for path in self.folder.iterdir()]
        majors = [int(match["major"]) for match in matches if match]
        return (max(majors), self.cluster_of(max(majors))) if majors else None

    def discard_unfinished(self) -> None:
        """Remove unfinished clusters of killed starters. Requires the start lock."""
        for leftover in self.folder.glob(f"data-*{UNFINISHED}"):
            # its initdb may still be writing until it fails; the rest is removed next time
            shutil.rmtree(leftover, ignore_errors=True)

    def make_password(self) -> None:
        """Generate the owner's password if there is none. Requires the start lock."""
        _make_secret(self.password_file)

    def make_superuser_password(self) -> None:
        """Generate the superuser's password if there is none. Requires the start lock."""
        _make_secret(self.superuser_password_file)

    def password(self) -> str:
        """Return the owner's password. Raises `DataDirectoryUnusable`."""
        return self._secret(self.password_file)

    def superuser_password(self) -> str:
        """Return the superuser's password. Raises `DataDirectoryUnusable`."""
        return self._secret(self.superuser_password_file)

    def keep_passfile(self) -> Path:
        """Write the passfile unless it is up to date, and return its path. Raises `DataDirectoryUnusable`."""
        text = f"*:*:*:*:{self.password()}\n"
        if not self.passfile.exists() or self.passfile.read_text(encoding="ascii") != text:
            write_durably(self.passfile, text, mode=0o600)
        return self.passfile

    def last_port(self) -> int | None:
        """Return the port of the last start; None if there is none or it cannot be read."""
        try:
            return int(self.port_file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None

    def remember_port(self, port: int) -> None:
        write_durably(self.port_file, f"{port}\n", mode=0o600)

    def _secret(self, file: Path) -> str:
        try:
            return file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise DataDirectoryUnusable(self.folder, f"its file {file.name} is missing") from None


def write_durably(path: Path, text: str, *, mode: int) -> None:
    """Replace a file atomically and durably: temporary name, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    # never through a link: the server's user can write its own folder, and we may be root
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, mode)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    temporary.replace(path)
    sync_folder(path.parent)


def _make_secret(file: Path) -> None:
    if not file.exists():
        write_durably(file, secrets.token_urlsafe(24), mode=0o600)


def sync_folder(folder: Path) -> None:
    """Make renames in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
