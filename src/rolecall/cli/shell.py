"""The context of each command: its settings, access to the database, and the output format."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from rolecall.audit import terminal_actor
from rolecall.cli import commands, options
from rolecall.cli.documents import print_json
from rolecall.cli.exits import run_unwinding
from rolecall.cli.options import DATABASE, LOGGING, json_option, settings_options
from rolecall.cli.verbs import Verb
from rolecall.config import DatabaseSettings, Setting, Settings, read_settings
from rolecall.config.database import DATA_DIR, DATABASE_URL, POOLS
from rolecall.config.dsn import has_password
from rolecall.config.pools import has_passwords
from rolecall.db.connect import connect_async
from rolecall.db.migrations import ROLECALL, Migrations
from rolecall.db.migrator import bring_up_to_date, check_async
from rolecall.model.errors import ConfigError
from rolecall.model.start_up import resume_collections
from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.telemetry.logs import set_up_logging

if TYPE_CHECKING:
    from rolecall.app.declarations import AppCheck

ON_THE_COMMAND_LINE = (
    "Every user of this machine can read the password in --database-url: use the environment (DATABASE_URL) or a file "
    "(--database-url-file)"
)
POOLS_ON_THE_COMMAND_LINE = (
    "Every user of this machine can read the passwords in --pools: use the environment (ROLECALL_POOLS) or a passfile"
)

log = logging.getLogger("rolecall.cli")

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """One run of a command. `flags` are the settings given as flags, by name."""

    settings: Settings
    flags: Mapping[str, str]
    as_json: bool

    def call(self, action: Callable[[Services], Awaitable[T]], checks: Sequence[AppCheck] = ()) -> T:
        """Run an action on the services. An embedded database runs until it returns.

        Raises SchemaMissing, SchemaTooNew.
        """
        with self.ready_database() as dsn:
            return self.ask(dsn, action, checks)

    def ask(self, dsn: str, action: Callable[[Services], Awaitable[T]], checks: Sequence[AppCheck] = ()) -> T:
        """Run an action on the services of a running database. Raises SchemaMissing, SchemaTooNew."""
        return run_unwinding(self._call(dsn, action, checks))

    async def _call(self, dsn: str, action: Callable[[Services], Awaitable[T]], checks: Sequence[AppCheck]) -> T:
        async with await connect_async(dsn, "cli") as connection:
            await check_async(connection)
            database, settings = OneConnection(connection, terminal_actor()), self.settings
            return await action(Services(database, settings, checks=checks))

    @contextmanager
    def database(self, *, create: bool = False) -> Iterator[str]:
        """Yield the DSN of the configured or embedded Postgres. The embedded one keeps running until the block ends.

        Without `create`, an embedded database that does not exist yet is an error, because it would be empty.
        """
        settings = self.settings.database
        if settings.url is not None:
            yield settings.url
            return
        from rolecall.embedded.server import EmbeddedServer, keep_running  # noqa: PLC0415 - often not needed

        if not create:
            _require_data(settings)
        with EmbeddedServer(settings.data_dir) as server:
            dsn = server.dsn()
            with keep_running(server):
                yield dsn

    @contextmanager
    def ready_database(self, *, create: bool = False, migrations: Sequence[Migrations] = ()) -> Iterator[str]:
        """Like `database`, but an embedded one is migrated first. Raises the errors of `migrate`."""
        with self.database(create=create) as dsn:
            if self.settings.database.embedded:
                bring_up_to_date(dsn, (ROLECALL, *migrations))
            yield dsn

    def show(self, value: object, for_people: Callable[[], None]) -> None:
        """Write the value as JSON with `--json`; otherwise call `for_people`."""
        if self.as_json:
            print_json(value)
        else:
            for_people()


def as_command(verb: Verb) -> Callable[..., None]:
    """Import a verb's function and make a command of it. Its help is the verb's summary, then the docstring."""
    settings = [row for group in verb.settings for row in getattr(options, group)]
    body = resolve_name(f"{commands.__name__}.{verb.place}")
    command = with_shell(body, settings)
    command.__doc__ = "\n\n".join(filter(None, (verb.summary, inspect.getdoc(body))))
    return command


def with_shell(
    body: Callable[Concatenate[Shell, P], None], settings: Iterable[Setting[object]] = ()
) -> Callable[..., None]:
    """Make a command of a function. Adds the options of the given settings and those shared by all commands.

    The function receives the settings through the shell, validated, from flags and environment variables.
    """
    own = list(inspect.signature(body, eval_str=True).parameters.values())[1:]
    shared = [json_option(), *settings_options([*settings, *DATABASE, *LOGGING])]

    @wraps(body)
    def command(*args: P.args, **options: P.kwargs) -> None:
        resume_collections()
        shell = _open_shell({parameter.name: options.pop(parameter.name) for parameter in shared})
        body(shell, *args, **options)

    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *shared]}
    return command


def _open_shell(options: dict[str, Any]) -> Shell:
    as_json = options.pop("as_json")
    flags = {name: text for name, text in options.items() if text is not None}
    settings = read_settings(os.environ, flags)
    set_up_logging(settings.log)
    if has_password(flags.get(DATABASE_URL.name, "")):
        log.warning(ON_THE_COMMAND_LINE)
    if has_passwords(flags.get(POOLS.name, "")):
        log.warning(POOLS_ON_THE_COMMAND_LINE)
    return Shell(settings=settings, flags=flags, as_json=as_json)


def _require_data(settings: DatabaseSettings) -> None:
    if not (settings.data_dir / "postgres").is_dir():
        raise ConfigError(
            f"no database in {str(settings.data_dir)!r}: create one with `rolecall up` or `rolecall migrate`, or name "
            "another one with --data-dir or DATABASE_URL",
            variable=DATA_DIR.name,
            value=str(settings.data_dir),
        )
