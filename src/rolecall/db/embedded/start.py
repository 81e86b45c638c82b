"""Getting from whatever the last processes left behind to a server that answers."""

from __future__ import annotations

import secrets
import socket
import time
from pathlib import Path

from rolecall.db.embedded.account import server_account
from rolecall.db.embedded.binaries import find_binaries
from rolecall.db.embedded.cluster import configure, make_cluster
from rolecall.db.embedded.connection import HOST, Address, make_way_for_socket
from rolecall.db.embedded.errors import StartFailed
from rolecall.db.embedded.home import Home
from rolecall.db.embedded.options import ServerOptions
from rolecall.db.embedded.owner import admit_owner
from rolecall.db.embedded.process import Postmaster, is_alive, launch, running_postmaster
from rolecall.db.embedded.reach import within_reach
from rolecall.db.embedded.waiting import wait_until

# below the ports that the kernel lends to outgoing connections, so that ours is rarely taken when we come
# back to it
PORTS = range(20_000, 32_768)
READY = "ready"
REFUSED_SECONDS = 5.0
MAX_LAUNCHES = 5
BETWEEN_LAUNCHES_SECONDS = 0.3
ORPHANS_IN_LOG = "pre-existing shared memory block"
LOG_TAIL_LINES = 20


def ensure_running(home: Home, options: ServerOptions) -> Address:
    """Join the running server or start one, under the start lock; returns where it has just answered.

    Raises `EmbeddedServerError`.
    """
    home.discard_unfinished()
    start = _Start(home, options)
    if not wait_until(start.advance, options.start_timeout):
        raise StartFailed(f"after {options.start_timeout:g} s: {start.refusal}", _log_tail(home))
    return start.address


class _Start:
    """Looks at the facts afresh at each step: a server may come or go between any two of them."""

    def __init__(self, home: Home, options: ServerOptions) -> None:
        self.address = Address(home.folder, 0)
        self.refusal: str | None = "the server did not come up"
        self._home = home
        self._options = options
        self._launched: int | None = None
        self._launches = 0
        self._not_before = 0.0
        self._refused_since: float | None = None

    def advance(self) -> bool:
        """Go one step; True once the server has answered."""
        cluster = self._home.newest_cluster()
        postmaster = running_postmaster(cluster[1]) if cluster else None
        if cluster is not None and postmaster is not None:
            return self._answers(cluster[1], postmaster)
        if self._launched is not None and not is_alive(self._launched):
            self._take_failure()
        if self._launched is None and time.monotonic() >= self._not_before:
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
        """All connections may be taken for a moment; a wrong password stays wrong."""
        self._refused_since = self._refused_since or time.monotonic()
        if time.monotonic() - self._refused_since > REFUSED_SECONDS:
            raise StartFailed(f"the server runs but refuses us: {reason}", "")

    def _take_failure(self) -> None:
        """A launch has ended: a taken port or an orphaned backend heals, what fails each time does not."""
        self._launched = None
        self._not_before = time.monotonic() + BETWEEN_LAUNCHES_SECONDS
        if ORPHANS_IN_LOG in _text(self._home.startup_log):
            self.refusal = "a backend of the last server is still at work"
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
        self._launched = launch(binaries, account, data, self._home.startup_log)


def _free_port(last: int | None) -> int:
    if last is not None and _is_free(last):
        return last
    while not _is_free(port := secrets.choice(PORTS)):
        continue
    return port


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # as Postgres does: connections of the last run that linger in TIME_WAIT do not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen()
        except OSError:
            return False
    return True


def _log_tail(home: Home) -> str:
    """The last lines of what the server said, before its own log was open and after."""
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
