"""`rolecall up`: start everything: database, migrations, schedules, workers, the API."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Annotated

from typer import Option

from rolecall.app import App
from rolecall.cli.commands.dispatch import dispatch_beside_workers
from rolecall.cli.commands.relay import relay_beside_workers
from rolecall.cli.commands.serve import Descriptor, serve_beside_workers
from rolecall.cli.commands.worker import Processes, announce, reloaded_words, secrets_of, work, worker_commands
from rolecall.cli.exits import Terminated
from rolecall.cli.locate import load_app
from rolecall.cli.options import ACCESS, HTTP, PROBING, WORKING
from rolecall.cli.reload import UNCOMPILED, Reload, ReloadDirs, run_and_reload, wants_reload
from rolecall.cli.shell import Shell
from rolecall.cli.sockets import listen
from rolecall.db.migrator import bring_up_to_date
from rolecall.extras import is_installed
from rolecall.model.errors import ConfigError
from rolecall.worker.supervisor import Command

log = logging.getLogger("rolecall.cli")
AppReference = Annotated[
    str | None, Option("--app", metavar="MODULE:APP", help="The App to run. Without it, only schedules fire.")
]


def up(  # sizes: one option each
    shell: Shell,
    *,
    app: AppReference = None,
    processes: Processes = 1,
    reload: Reload = False,
    reload_dir: ReloadDirs = None,
    fd: Descriptor = None,
) -> None:
    if app is None and processes > 1:
        raise ConfigError("more than one process needs an App (--app)", variable="--processes", value=processes)
    if wants_reload(reload=reload, folders=reload_dir):
        with suppress(Terminated), shell.database(create=True), _reloaded_command(shell, app, processes) as command:
            run_and_reload(command, reload_dir)
        return
    try:
        given = shell.settings.database.url
        # An app's module may use the database while it is imported. The embedded one has been migrated by then.
        if given is not None:
            bring_up_to_date(given)
        loaded = load_app(app) if app else App("rolecall")
        if given is not None and loaded.migrations:
            bring_up_to_date(given, loaded.migrations)
        with (
            shell.ready_database(create=True, migrations=loaded.migrations) as dsn,
            serve_beside_workers(shell, dsn, app, fd) as api,
        ):
            more_commands = api.commands or [*relay_beside_workers(shell), *dispatch_beside_workers(shell)]
            announce(shell, {"app": app, "processes": processes, "http": api.url, "token_file": api.token_file})
            if loaded.checks:
                _print_findings(shell, dsn, loaded)
            work(shell, dsn, loaded, worker_commands(shell, app, processes), more_commands, persistent=True)
    except Terminated:
        return


@contextmanager
def _reloaded_command(shell: Shell, reference: str | None, processes: int) -> Iterator[Command]:
    """Yield this command for `--reload`. The socket of its API stays open in this process."""
    if reference is None:
        raise ConfigError("needs an App to reload (--app)", variable="--reload", value=True)
    words = reloaded_words(shell, "up", reference, processes, [*WORKING, *PROBING, *HTTP, *ACCESS])
    command = Command(name="It", arguments=words, environment={**secrets_of(shell), **UNCOMPILED})
    if not (shell.settings.http.enabled and is_installed("web")):
        yield command
        return
    with listen(shell.settings.http) as listener:
        number = listener.fileno()
        yield replace(command, arguments=[*words, "--fd", str(number)], descriptors=(number,))


def _print_findings(shell: Shell, dsn: str, app: App) -> None:
    """Log the findings of the app's own checks."""
    for found in shell.ask(dsn, lambda services: services.doctor.run_app_checks(), app.checks):
        log.warning("%s: %s; %s", found.check, found.problem, found.advice)
