"""Connection strings of the server, and databases that are created on first use.

Clients use a socket in the cluster's folder, which no other user can replace. A process that takes the server's TCP
port while it is down is therefore never contacted and receives no password. The socket's name does not depend on the
port, so connection strings remain valid if the port changes. TCP is used by clients without support for such sockets,
and if the folder's path is too long for one.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from rolecall.embedded.errors import NotAnswering

HOST = "127.0.0.1"
OWNER = "rolecall"
SUPERUSER = "rolecall_superuser"
MAINTENANCE_DATABASE = "postgres"
CONNECT_SECONDS = 5
SOCKET_PORT = 5432
SOCKETS = ".s.PGSQL."
# The limit of all systems, in bytes; Linux allows four more.
LONGEST_SOCKET = 103
# The first libpq in which the accepted ways of authentication can be restricted.
KNOWS_REQUIRE_AUTH = 160_000


@dataclass(frozen=True, slots=True)
class Login:
    """A user and its password."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server of a cluster listens."""

    data: Path
    port: int

    def dsn(self, login: Login, database: str) -> str:
        """Return the safest connection string of a database that this process can use, including the password."""
        if not self._has_socket():
            return self.tcp_dsn(login, database) + _only_by_scram()
        where = f"host={quote(os.fsencode(self.data), safe='/')}&port={SOCKET_PORT}"
        return f"{_begin(login)}/{quote(database, safe='')}?{where}&sslmode=disable"

    def tcp_dsn(self, login: Login, database: str) -> str:
        """Return a connection string that drivers of all languages accept.

        It leads to a port. A process that takes the port while the server is down could ask for the password in clear
        text.
        """
        # explicit, because PGSSLMODE and some drivers demand TLS, which a server on loopback lacks
        return f"{_begin(login)}{HOST}:{self.port}/{quote(database, safe='')}?sslmode=disable"

    def _has_socket(self) -> bool:
        try:
            return _may_be_named(self.data) and (self.data / f"{SOCKETS}{SOCKET_PORT}").is_socket()
        except PermissionError:
            return False


def make_way_for_socket(data: Path, port: int) -> bool:
    """Link the well-known name to the socket that a server at this port will create; False if sockets are not
    possible.

    Call it only while no server runs, because it removes leftover sockets.
    """
    for leftover in data.glob(f"{SOCKETS}*"):
        leftover.unlink()
    if not (_may_be_named(data) and _takes_sockets(data)):
        return False
    if port != SOCKET_PORT:
        (data / f"{SOCKETS}{SOCKET_PORT}").symlink_to(f"{SOCKETS}{port}")
    return True


def create_database(address: Address, superuser: Login, name: str) -> None:
    """Create the database for its owner unless it exists. Concurrent calls all succeed.

    Raises `NotAnswering`.
    """
    try:
        with connect(address, superuser) as connection:
            known = connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone()
            if known is None:
                _create(connection, name)
    except psycopg.OperationalError as error:
        raise NotAnswering(str(error).strip()) from error


def connect(
    address: Address, login: Login, database: str = MAINTENANCE_DATABASE
) -> psycopg.Connection[tuple[object, ...]]:
    """Open a connection in autocommit."""
    return psycopg.connect(
        address.dsn(login, database),
        autocommit=True,
        connect_timeout=CONNECT_SECONDS,
        application_name="rolecall:embedded",
        # objects that the owner created must not shadow the server's own
        options="-c search_path=",
    )


def _begin(login: Login) -> str:
    return f"postgresql://{quote(login.user, safe='')}:{quote(login.password, safe='')}@"


def _only_by_scram() -> str:
    return "&require_auth=scram-sha-256" if psycopg.pq.version() >= KNOWS_REQUIRE_AUTH else ""


def _may_be_named(data: Path) -> bool:
    # A comma separates hosts.
    return "," not in str(data) and len(os.fsencode(data / f"{SOCKETS}{SOCKET_PORT}")) <= LONGEST_SOCKET


def _takes_sockets(data: Path) -> bool:
    """Return whether the file system supports sockets; those shared with a virtual machine may not."""
    place = data / f"{SOCKETS}probe"
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(place))
    except OSError:
        return False
    finally:
        place.unlink(missing_ok=True)
    return True


def _create(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    names = sql.Identifier(name), sql.Identifier(OWNER)
    try:
        connection.execute(sql.SQL("create database {} owner {}").format(*names))
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        return
