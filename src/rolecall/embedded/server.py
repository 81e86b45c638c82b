"""The public interface of the embedded server: attach, get a connection string, detach."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rolecall.embedded.connection import Address, create_database
from rolecall.embedded.errors import DataDirectoryUnusable, EmbeddedServerError, NotAttached
from rolecall.embedded.home import Home
from rolecall.embedded.locks import Presence, exclusive
from rolecall.embedded.owner import owner_of, superuser_of
from rolecall.embedded.process import Postmaster, running_postmaster, stop
from rolecall.embedded.start import DEFAULT_OPTIONS, ServerOptions, ensure_running

LOOK_SECONDS = 1.0
RETRY_SECONDS = 5.0
log = logging.getLogger("rolecall.embedded")


class EmbeddedServer:
    """A real Postgres in a data directory, shared by all processes of this machine that attach to it.

    Not thread-safe. A forked child is not attached; it must attach itself.

        with EmbeddedServer(Path("rolecall-data")) as server:
            psycopg.connect(server.dsn())
    """

    def __init__(self, data_dir: Path, *, options: ServerOptions = DEFAULT_OPTIONS) -> None:
        self._home = Home.under(data_dir)
        self._options = options
        self._presence = Presence(self._home.attach_lock)
        self._address: Address | None = None
        self._databases: set[str] = set()

    def __enter__(self) -> Self:
        self.attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()

    @property
    def pid(self) -> int | None:
        """The process id of the server; None if it does not run or this process is not attached."""
        postmaster = self._postmaster() if self._presence.is_held else None
        return postmaster.pid if postmaster else None

    def attach(self) -> None:
        """Start or join the server, and return when it has answered a real connection.

        A further call revives a server that has ended. Its port may have changed, so get the connection string again.
        Raises `EmbeddedServerError`; this process is then not attached.
        """
        self._home.open()
        with self._understandable_errors(), self._start_lock():
            self._presence.enter()
            try:
                self._address = ensure_running(self._home, self._options)
            except BaseException:
                self._leave()
                raise

    def detach(self) -> None:
        """Detach, and stop the server if no other process is attached. Does nothing if not attached.

        Raises `LockTimeout` or `StopFailed`; this process is detached even then.
        """
        if not self._presence.is_held:
            self._presence.leave()
            return
        try:
            with self._understandable_errors(), self._start_lock():
                self._leave()
        finally:
            self._presence.leave()
            self._address = None

    def stop_if_unused(self) -> None:
        """Stop the server if it runs and no process is attached. Raises `LockTimeout` or `StopFailed`."""
        self._home.open()
        with self._understandable_errors(), self._start_lock():
            self._presence.enter()
            self._leave()

    def dsn(self, database: str = "rolecall", *, tcp: bool = False) -> str:
        """Return the connection string of a database for its owner. The database is created on first use.

        It leads to a socket in the data directory; with `tcp` to a port, for drivers without support for such sockets
        and for programs of other users. Raises `NotAttached` and `NotAnswering`.
        """
        address = self._attached_address()
        if database not in self._databases:
            create_database(address, superuser_of(self._home), database)
            self._databases.add(database)
        owner = owner_of(self._home)
        return address.tcp_dsn(owner, database) if tcp else address.dsn(owner, database)

    def passfile(self) -> Path:
        """Return a passfile, readable only by its owner, for connection strings (`passfile=`) without a password.

        Raises `NotAttached` and `DataDirectoryUnusable`.
        """
        self._attached_address()
        with self._understandable_errors():
            return self._home.keep_passfile()

    def superuser_dsn(self, database: str = "postgres", *, tcp: bool = False) -> str:
        """Return the connection string of an existing database for the server's superuser.

        The superuser can also read files and run programs as the server's user. Raises `NotAttached`.
        """
        address, superuser = self._attached_address(), superuser_of(self._home)
        return address.tcp_dsn(superuser, database) if tcp else address.dsn(superuser, database)

    def _attached_address(self) -> Address:
        if self._address is None or not self._presence.is_held:
            raise NotAttached
        return self._address

    def _postmaster(self) -> Postmaster | None:
        cluster = self._home.newest_cluster()
        return running_postmaster(cluster[1]) if cluster else None

    def _leave(self) -> None:
        try:
            cluster = self._home.newest_cluster()
            if cluster is not None and self._presence.is_last():
                stop(cluster[1], self._options.stop_timeout)
        finally:
            self._presence.leave()

    @contextmanager
    def _start_lock(self) -> Iterator[None]:
        with exclusive(self._home.start_lock, self._options.start_timeout + self._options.stop_timeout):
            yield

    @contextmanager
    def _understandable_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataDirectoryUnusable(self._home.folder, str(error)) from error


@contextmanager
def keep_running(server: EmbeddedServer) -> Iterator[None]:
    """Revive the attached server in a thread of its own whenever it ends, during the block.

    Meanwhile only that thread may use `server`. Every attached process may do this: one of them starts the server,
    the others join it. Leaving the block waits for a start in progress.
    """
    ended = threading.Event()
    keeper = threading.Thread(target=_keep, args=(server, ended), name="rolecall-embedded", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _keep(server: EmbeddedServer, ended: threading.Event) -> None:
    pause = LOOK_SECONDS
    while not ended.wait(pause):
        pause = LOOK_SECONDS if _runs(server) or _revive(server) else RETRY_SECONDS


def _runs(server: EmbeddedServer) -> bool:
    try:
        return server.pid is not None
    except OSError:
        return True  # its folder was removed; an empty one in its place would not help


def _revive(server: EmbeddedServer) -> bool:
    log.warning("The embedded Postgres has ended; restarting it")
    try:
        server.attach()
    except EmbeddedServerError as error:
        log.warning("The embedded Postgres did not restart; trying again in %g s: %s", RETRY_SECONDS, error)
        return False
    log.info("The embedded Postgres is running again")
    return True
