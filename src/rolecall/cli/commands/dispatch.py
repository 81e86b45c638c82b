"""`rolecall dispatch`: push due tasks to Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from typer import Option

from rolecall.cli.commands.worker import announce, command_line, secrets_of
from rolecall.cli.exits import Terminated, run_unwinding
from rolecall.cli.locate import load_app
from rolecall.cli.options import DATABASE, LOGGING
from rolecall.cli.shell import Shell
from rolecall.config.handoff import REDIS_URL
from rolecall.model.errors import ConfigError
from rolecall.service.dispatching import dispatcher_of
from rolecall.worker.supervisor import Command

AppReference = Annotated[
    str | None, Option("--app", metavar="MODULE:APP", help="The App whose migrations must be applied.")
]


def dispatch(shell: Shell, *, app: AppReference = None) -> None:
    try:
        migrations = load_app(app).migrations if app else ()
        with shell.ready_database(migrations=migrations) as dsn:
            dispatcher = dispatcher_of(dsn, shell.settings)
            if dispatcher is None:
                raise ConfigError(
                    "dispatch needs the address of a Redis, such as redis://host:6379/0", variable=REDIS_URL.name
                )
            announce(shell, {"handoff": shell.settings.handoff.kind})
            run_unwinding(dispatcher.run())
    except Terminated:
        return


def dispatch_beside_workers(shell: Shell) -> Sequence[Command]:
    """Return the command that starts a dispatcher with these settings, if dispatch is enabled."""
    if not shell.settings.handoff.on:
        return ()
    words = command_line(shell, "dispatch", None, [*DATABASE, *LOGGING])
    return [Command(name="The dispatcher", arguments=words, environment=secrets_of(shell))]
