"""The server process: start it detached, recognize it among recycled and dead process ids, stop it, choose its
user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolecall.embedded.binaries import Binaries
from rolecall.embedded.errors import RootNotSupported, StopFailed

PID_FILE = "postmaster.pid"
PORT_LINE, STATUS_LINE = 3, 7
PROC = Path("/proc")
IMMEDIATE_SECONDS = 15.0
GONE = ("", "Z", "X")
DETACHED = '"$@" >&2 & echo $!'
CANDIDATES = ("postgres", "nobody")
DESCRIPTORS = Path("/proc/self/fd")
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A running server: its process, its TCP port, and whether it is starting, ready or stopping."""

    pid: int
    port: int
    status: str = ""


def running_postmaster(data: Path) -> Postmaster | None:
    """Return the live server of this cluster; None if `postmaster.pid` is missing, stale, or names a recycled id."""
    lines = _pid_file(data)
    try:
        postmaster = Postmaster(int(lines[0]), int(lines[PORT_LINE]), "".join(lines[STATUS_LINE:]).strip())
    except (IndexError, ValueError):
        return None
    return postmaster if _serves(postmaster.pid, data) else None


def launch(binaries: Binaries, account: Account, data: Path, log: Path) -> int:
    """Start the server in its own session and return its process id at once, before it is ready.

    A short-lived shell starts it, so that the server is not our child and cannot become our zombie.
    """
    _discard_torn_pid_file(data)
    with account.reach(data) as reached, log.open("wb") as stderr:
        server = [str(binaries.postgres), "-D", reached.name, "-c", _identity(data)]
        shell = subprocess.run(
            ["/bin/sh", "-c", DETACHED, "rolecall", *account.prefix, *server],
            cwd="/",
            env=clean_environment() | _disowning_environment(data),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            pass_fds=reached.descriptors,
            start_new_session=True,
            check=True,
        )
    return int(shell.stdout)


def stop(data: Path, seconds: float) -> None:
    """Request a fast shutdown, then an immediate one. Both are safe for committed work. Raises `StopFailed`."""
    postmaster = running_postmaster(data)
    if postmaster is None:
        return
    for how, patience in ((signal.SIGINT, seconds), (signal.SIGQUIT, IMMEDIATE_SECONDS)):
        _signal(postmaster.pid, how)
        if wait_until(lambda: not is_alive(postmaster.pid), patience):
            return
    raise StopFailed(postmaster.pid, seconds + IMMEDIATE_SECONDS)


def is_alive(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    state, _ = _state_and_command(pid)
    return state not in GONE


def clean_environment() -> dict[str, str]:
    """Return an environment without ours, because PGDATA, PGOPTIONS and the like affect the programs."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _pid_file(data: Path) -> list[str]:
    try:
        return (data / PID_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _discard_torn_pid_file(data: Path) -> None:
    """Remove a `postmaster.pid` that a power failure left empty, because Postgres would refuse to start."""
    lines = _pid_file(data)
    if not lines or not lines[0].strip().isdecimal():
        (data / PID_FILE).unlink(missing_ok=True)


def _disowning_environment(data: Path) -> dict[str, str]:
    """Tell Postgres that the process id in a stale `postmaster.pid` is not a server.

    Postgres takes a zombie or a recycled id for a server and refuses to start. This variable, made for start scripts
    whose own id may be the recycled one, exempts one id. Removing the file would also disable the check that no
    orphaned backend still writes to the cluster.
    """
    lines = _pid_file(data)
    return {"PG_GRANDPARENT_PID": lines[0].strip()} if lines else {}


def _serves(pid: int, data: Path) -> bool:
    state, command = _state_and_command(pid)
    return state not in GONE and command.endswith(f" {_identity(data)}")


def _identity(data: Path) -> str:
    """Return a setting without meaning for Postgres, which identifies the cluster in the process's command line."""
    return f"rolecall.data={data}"


def _state_and_command(pid: int) -> tuple[str, str]:
    return _from_proc(PROC / str(pid)) if (PROC / "self").exists() else _from_ps(pid)


def _from_proc(process: Path) -> tuple[str, str]:
    """Return the state letter and the command line, which all users may read; both are empty if the process is
    gone.
    """
    try:
        state = process.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        command = process.joinpath("cmdline").read_bytes().replace(b"\0", b" ").rstrip()
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    return state, command.decode(errors="surrogateescape")


def _from_ps(pid: int) -> tuple[str, str]:
    listing = subprocess.run(
        ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, command = listing.stdout.strip().partition(" ")
    return state[:1], command


def _signal(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return


@dataclass(frozen=True, slots=True)
class ReachableFolder:
    """The name by which a program can open a folder, and the descriptors that it must inherit for that."""

    name: str
    descriptors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user that runs the server; `prefix` is the command that switches to it."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return user_name(self.uid)

    @property
    def is_other(self) -> bool:
        return bool(self.prefix)

    @contextmanager
    def reach(self, folder: Path) -> Iterator[ReachableFolder]:
        """Make a folder of the user's accessible to it, whatever the rights of the folders above."""
        if not self.is_other:
            yield ReachableFolder(str(folder))
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield ReachableFolder(str(DESCRIPTORS / str(descriptor)), (descriptor,))
        finally:
            os.close(descriptor)

    def give(self, path: Path) -> None:
        if self.is_other:
            os.chown(path, self.uid, self.gid)

    def give_descriptor(self, descriptor: int) -> None:
        """Make the user the owner of an open pipe, so that it can open the pipe again by name."""
        if self.is_other:
            os.fchown(descriptor, self.uid, self.gid)


def server_account(existing_data: Path | None) -> Account:
    """Choose the user: our own; for root the owner of the existing data, otherwise `postgres` or `nobody`.

    Raises `RootNotSupported`.
    """
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid())
    return _account_for_root(existing_data)


def user_name(uid: int) -> str:
    """Return the name of a user, or its number if it has none."""
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


def wait_until(fact: Callable[[], bool], seconds: float) -> bool:
    """Poll until the condition is true; return False if it was not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
