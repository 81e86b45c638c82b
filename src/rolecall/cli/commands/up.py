"""`rolecall up`: everything from one command: database, schema, schedules, workers, the API."""

from __future__ import annotations

import logging
from typing import Annotated

from typer import Option

from rolecall.app import App
from rolecall.cli.commands.dispatch import dispatch_beside_workers
from rolecall.cli.commands.relay import relay_beside_workers
from rolecall.cli.commands.serve import beside_workers
from rolecall.cli.commands.worker import Processes, announce, work, worker_commands
from rolecall.cli.exits import Terminated
from rolecall.cli.locate import load_app
from rolecall.cli.shell import Shell
from rolecall.db.migrator import bring_up_to_date
from rolecall.model.errors import ConfigError

log = logging.getLogger("rolecall.cli")
AppReference = Annotated[str | None, Option("--app", metavar="MODULE:APP", help="The App to run; else only schedules.")]


def up(shell: Shell, *, app: AppReference = None, processes: Processes = 1) -> None:
    """Bring up the database, its schema, the schedules, the workers and the API; stay until SIGTERM."""
    if app is None and processes > 1:
        raise ConfigError("several processes need an App to run (--app)", variable="--processes", value=processes)
    try:
        given = shell.settings.database.url
        # An app's module may use the database as soon as it is imported; the embedded one it finds migrated anyway.
        if given is not None:
            bring_up_to_date(given)
        loaded = load_app(app) if app else App("rolecall")
        if given is not None and loaded.migrations:
            bring_up_to_date(given, loaded.migrations)
        with (
            shell.ready_database(create=True, migrations=loaded.migrations) as dsn,
            beside_workers(shell, dsn, app) as api,
        ):
            beside = api.commands or [*relay_beside_workers(shell), *dispatch_beside_workers(shell)]
            announce(shell, {"app": app, "processes": processes, "http": api.url, "token_file": api.token_file})
            if loaded.checks:
                _tell_findings(shell, dsn, loaded)
            work(shell, dsn, loaded, worker_commands(shell, app, processes), beside, persistent=True)
    except Terminated:
        return


def _tell_findings(shell: Shell, dsn: str, app: App) -> None:
    """Say what the app itself finds to be done before it can work."""
    for found in shell.ask(dsn, lambda services: services.doctor.ask_apps(), app.checks):
        log.warning("%s: %s; %s", found.check, found.problem, found.advice)
