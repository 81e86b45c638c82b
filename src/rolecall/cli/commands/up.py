"""`rolecall up`: everything from one command: database, schema, schedules, workers, the API."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from rolecall.app import App
from rolecall.cli.commands.serve import beside_workers
from rolecall.cli.commands.worker import Processes, announce, work, worker_command
from rolecall.cli.exits import Terminated
from rolecall.cli.locate import load_app
from rolecall.cli.shell import Shell
from rolecall.db.connect import connect
from rolecall.db.migrator import make_room, migrate
from rolecall.model.errors import ConfigError

AppReference = Annotated[str | None, Option("--app", metavar="MODULE:APP", help="The App to run; else only schedules.")]


def up(shell: Shell, *, app: AppReference = None, processes: Processes = 1) -> None:
    """Bring up the database, its schema, the schedules, the workers and the API; stay until SIGTERM."""
    if app is None and processes > 1:
        raise ConfigError("several processes need an App to run (--app)", variable="--processes", value=processes)
    try:
        # An app's module may use the database as soon as it is imported; the embedded one it finds migrated anyway.
        if shell.settings.database.url is not None:
            _migrate(shell.settings.database.url)
        loaded = load_app(app) if app else App("rolecall")
        with shell.ready_database(create=True) as dsn, beside_workers(shell, dsn, app) as api:
            announce(shell, {"app": app, "processes": processes, "http": api.url, "token_file": api.token_file})
            work(shell, dsn, loaded, [worker_command(shell, app)] * processes, api.commands)
    except Terminated:
        return


def _migrate(dsn: str) -> None:
    with connect(dsn, "up") as connection:
        migrate(connection)
        make_room(connection)
