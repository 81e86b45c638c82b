"""Open the crawler's database and files: those of a folder, or a given Postgres."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from typer import CallbackParam, Context, Option, echo

from rolecall import ConfigError, EmbeddedServer, migrate
from rolecall.cli import run_unwinding
from storecrawl.migrations import MIGRATIONS
from storecrawl.payloads import PayloadStore
from storecrawl.settings import CrawlSettings

READABLE = (
    "storecrawl: other users of this machine can read the password in --database-url: use the environment variable "
    "DATABASE_URL"
)

DATA_DIR_VARIABLE = "ROLECALL_DATA_DIR"

T = TypeVar("T")
Connection = psycopg.AsyncConnection[Any]


def checked_address(context: Context, parameter: CallbackParam, text: str | None) -> str | None:
    """Reject an invalid Postgres URL without repeating it, since it may contain a password; warn of one in the flag."""
    try:
        parts = conninfo_to_dict(text or "")
    except psycopg.ProgrammingError:
        raise ConfigError("not a Postgres URL", variable="DATABASE_URL") from None
    source = context.get_parameter_source(str(parameter.name))
    if parts.get("password") and source is not None and source.name == "COMMANDLINE":
        echo(READABLE, err=True)
    return text or None


DatabaseUrl = Annotated[
    str | None,
    Option(
        "--database-url",
        envvar="DATABASE_URL",
        metavar="URL",
        callback=checked_address,
        help="Use this Postgres instead of the folder's own.",
    ),
]
DataDir = Annotated[
    Path | None,
    Option(
        "--data-dir",
        metavar="DIR",
        help="The folder of database and payloads; by default that of a demo or `rolecall up` in the current folder.",
    ),
]
# The folders of a demo and of `rolecall up`.
USUAL = (Path("storecrawl-data"), Path("rolecall-data"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """Connection strings of one database: of its owner, of a user who can create roles, and one for other programs."""

    owner: str
    creator: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlHome:
    """The location of a crawl's data: one folder, or that of the settings and the defaults."""

    data_dir: Path | None
    database_url: str | None

    @property
    def settings(self) -> CrawlSettings:
        """Return the environment's settings, for the files of this folder. Raises ConfigError."""
        settings = CrawlSettings.from_environment()
        return replace(settings, data_dir=self.data_dir) if self.data_dir else settings

    @property
    def payloads(self) -> PayloadStore:
        """Return the crawl payload files in this folder, or in the environment's bucket. Raises ConfigError."""
        # It imports the clients of the upstream and of images, which most commands do not need.
        from storecrawl.roles.crawler import payload_store  # noqa: PLC0415

        return payload_store(self.settings)

    def query(self, operation: Callable[[Connection], Awaitable[T]]) -> T:
        """Migrate the database and return the query's result. Raises DatabaseError, ConfigError."""
        with nullcontext(None) if self.database_url else EmbeddedServer(self._folder().absolute()) as server:
            return run_unwinding(_query(server.dsn() if server else str(self.database_url), operation))

    @contextmanager
    def logins(self) -> Iterator[Logins]:
        """Migrate the database; provide its connection strings during the block. Raises DatabaseError, ConfigError."""
        with nullcontext(None) if self.database_url else EmbeddedServer(self._folder().absolute()) as server:
            owner = server.dsn() if server else str(self.database_url)
            _migrate(owner)
            creator = server.superuser_dsn(str(conninfo_to_dict(owner)["dbname"])) if server else owner
            yield Logins(owner=owner, creator=creator, shown=server.dsn(tcp=True) if server else owner)

    def _folder(self) -> Path:
        """Return the folder of the embedded database, that of `rolecall up` if there is none yet."""
        folder = self.data_dir or os.environ.get(DATA_DIR_VARIABLE)
        if folder:
            return Path(folder).expanduser()
        found = [folder for folder in USUAL if (folder / "postgres").is_dir()]
        if len(found) > 1:
            both = " and ".join(map(str, found))
            raise ConfigError(f"there are databases in {both}: choose one", variable="--data-dir")
        return found[0] if found else USUAL[-1]


def _migrate(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        migrate(connection)
        migrate(connection, MIGRATIONS)


async def _query(dsn: str, operation: Callable[[Connection], Awaitable[T]]) -> T:
    _migrate(dsn)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        return await operation(connection)
