"""Starts or joins a server from any state that earlier processes left, also as root."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rolecall.embedded.binaries import Binaries, find_binaries
from rolecall.embedded.cluster import configure, make_cluster
from rolecall.embedded.connection import HOST, Address, make_way_for_socket
from rolecall.embedded.errors import BinariesUnreachable, InvalidOption, StartFailed
from rolecall.embedded.home import Home
from rolecall.embedded.locks import exclusive
from rolecall.embedded.owner import admit_owner
from rolecall.embedded.process import (
    Account,
    Postmaster,
    is_alive,
    launch,
    running_postmaster,
    server_account,
    wait_until,
)

# below the ports that the kernel assigns to outgoing connections, so that ours is rarely taken at the next start
PORTS = range(20_000, 32_768)
READY = "ready"
REFUSED_SECONDS = 5.0
MAX_LAUNCHES = 5
BETWEEN_LAUNCHES_SECONDS = 0.3
ORPHANS_IN_LOG = "pre-existing shared memory block"
LOG_TAIL_LINES = 20
SETTING_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*", re.IGNORECASE)
DECIDED_BY_US = frozenset({"port", "listen_addresses", "unix_socket_directories", "data_directory", "log_directory"})
ALWAYS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    # the cluster's own folder, where no other user can listen
    "unix_socket_directories": ".",
    "password_encryption": "scram-sha-256",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "on",
    # mmap uses the data directory; containers limit /dev/shm (posix) to 64 MB
    "dynamic_shared_memory_type": "mmap",
    # the owner has the same name as the engine's schema, so without this a user's table would be created there
    "search_path": "public",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    # one file per weekday, overwritten a week later, so that the log does not grow without limit
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgres-%a.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_checkpoints": "off",
    "log_lock_waits": "on",
}
SHARED = Path("/var/lib/rolecall")
COPY_SECONDS = 120.0
PROBE_SECONDS = 20


def ensure_running(home: Home, options: ServerOptions) -> Address:
    """Join the running server or start one, and return its address once it has answered. Requires the start lock.

    Raises `EmbeddedServerError`.
    """
    home.discard_unfinished()
    start = _Start(home, options)
    if not wait_until(start.advance, options.start_timeout):
        raise StartFailed(f"after {options.start_timeout:g} s: {start.refusal}", _log_tail(home))
    return start.address


class _Start:
    """Checks the state again at each step, because a server may start or end between any two of them."""

    def __init__(self, home: Home, options: ServerOptions) -> None:
        self.address = Address(home.folder, 0)
        self.refusal: str | None = "the server did not start"
        self._home = home
        self._options = options
        self._launched_pid: int | None = None
        self._launches = 0
        self._not_before = 0.0
        self._refused_since: float | None = None

    def advance(self) -> bool:
        """Do one step; return True once the server has answered."""
        cluster = self._home.newest_cluster()
        postmaster = running_postmaster(cluster[1]) if cluster else None
        if cluster is not None and postmaster is not None:
            return self._answers(cluster[1], postmaster)
        if self._launched_pid is not None and not is_alive(self._launched_pid):
            self._take_failure()
        if self._launched_pid is None and time.monotonic() >= self._not_before:
            self._launch()
        return False

    def _answers(self, data: Path, postmaster: Postmaster) -> bool:
        if postmaster.status != READY:
            self.refusal = f"the server is {postmaster.status or 'starting'}"
            return False
        self.address = Address(data, postmaster.port)
        self.refusal = admit_owner(self.address, self._home)
        if self.refusal is not None:
            self._count_refusal(self.refusal)
        return self.refusal is None

    def _count_refusal(self, reason: str) -> None:
        """Raise if refusals last: all connections may be taken for a moment, but a wrong password stays wrong."""
        self._refused_since = self._refused_since or time.monotonic()
        if time.monotonic() - self._refused_since > REFUSED_SECONDS:
            raise StartFailed(f"the server runs but rejects our connections: {reason}", "")

    def _take_failure(self) -> None:
        """Handle the end of a launch: a taken port or an orphaned backend is temporary, repeated failures are not."""
        self._launched_pid = None
        self._not_before = time.monotonic() + BETWEEN_LAUNCHES_SECONDS
        if ORPHANS_IN_LOG in _text(self._home.startup_log):
            self.refusal = "a backend of the previous server is still running"
            return
        self._launches += 1
        if self._launches >= MAX_LAUNCHES:
            raise StartFailed(f"the server ended {self._launches} times", _log_tail(self._home))

    def _launch(self) -> None:
        major, data = self._home.newest_cluster() or (None, None)
        found = find_binaries(major)
        account = server_account(data)
        binaries = within_reach(found, account)
        if data is None:
            data = make_cluster(self._home, binaries, account)
        port = _free_port(self._home.last_port())
        self._home.remember_port(port)
        sockets = {} if make_way_for_socket(data, port) else {"unix_socket_directories": ""}
        configure(data, {**self._options.settings(), **sockets}, port)
        self._launched_pid = launch(binaries, account, data, self._home.startup_log)


def _free_port(last: int | None) -> int:
    if last is not None and _is_free(last):
        return last
    while not _is_free(port := secrets.choice(PORTS)):
        continue
    return port


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # as Postgres does, because connections of the last run in TIME_WAIT do not matter
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen()
        except OSError:
            return False
    return True


def _log_tail(home: Home) -> str:
    lines = [line for path in (home.startup_log, _newest_log(home)) if path for line in _text(path).splitlines()]
    return "\n".join(lines[-LOG_TAIL_LINES:])


def _newest_log(home: Home) -> Path | None:
    cluster = home.newest_cluster()
    logs = list((cluster[1] / "log").glob("*.log")) if cluster else []
    return max(logs, key=lambda log: log.stat().st_mtime, default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Settings of the server. They apply when a server is started, not when a running one is joined.

    `extra` contains further Postgres settings and overrides everything except the address, the port and the folders.
    Timeouts are in seconds: `start_timeout` includes crash recovery, and `stop_timeout` is that of each shutdown
    mode. Raises `InvalidOption`.
    """

    shared_buffers: str = "128MB"
    max_connections: int = 100
    tcp_keepalives_idle: int = 30
    tcp_keepalives_interval: int = 10
    tcp_keepalives_count: int = 3
    client_connection_check_interval: str = "10s"
    start_timeout: float = 120.0
    stop_timeout: float = 30.0
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_connections < 1:
            raise InvalidOption("max_connections", "must be at least 1")
        for name in ("start_timeout", "stop_timeout"):
            if getattr(self, name) <= 0:
                raise InvalidOption(name, "must be more than 0 seconds")
        for name in self.extra:
            _check_extra(name)

    def settings(self) -> dict[str, str]:
        """Return all Postgres settings except the port."""
        chosen = {
            "shared_buffers": self.shared_buffers,
            "max_connections": str(self.max_connections),
            "tcp_keepalives_idle": str(self.tcp_keepalives_idle),
            "tcp_keepalives_interval": str(self.tcp_keepalives_interval),
            "tcp_keepalives_count": str(self.tcp_keepalives_count),
            "client_connection_check_interval": self.client_connection_check_interval,
        }
        return {**ALWAYS, **chosen, **self.extra}


DEFAULT_OPTIONS = ServerOptions()


def _check_extra(name: str) -> None:
    if not SETTING_NAME.fullmatch(name):
        raise InvalidOption(f"extra[{name!r}]", "is not the name of a Postgres setting")
    if name.lower() in DECIDED_BY_US:
        raise InvalidOption(f"extra[{name!r}]", "is set by Rolecall and cannot be changed")


def within_reach(binaries: Binaries, account: Account, shared: Path = SHARED) -> Binaries:
    """Return the binaries themselves if the account can run them, otherwise a copy under `shared`.

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
    """Try to run the programs and return why the account cannot run them, or None."""
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
    """Return a digest that distinguishes builds of the same version."""
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
