"""`rolecall worker`: claim and run tasks."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated

from typer import Exit, Option

from rolecall import cli
from rolecall.app import App
from rolecall.cli.exits import Terminated
from rolecall.cli.locate import load_app
from rolecall.cli.metrics import address_of_turn, answering_scrapes
from rolecall.cli.options import DATABASE, LOGGING, PROBING, WORKING
from rolecall.cli.probes import NOTIFY_SOCKET, answering_probes, notifying_systemd
from rolecall.cli.reload import UNCOMPILED, Reload, ReloadDirs, run_and_reload, wants_reload
from rolecall.cli.shell import Shell
from rolecall.config import Setting, Settings
from rolecall.config.brokers import NOTIFICATIONS
from rolecall.config.database import DATABASE_URL, DATABASE_URL_FILE
from rolecall.config.worker import HEALTH, HEALTH_FILE, METRICS
from rolecall.db.connect import connect
from rolecall.db.migrator import check
from rolecall.db.run import run as ask
from rolecall.maintenance.deaths import rescue_neighbours
from rolecall.model.errors import ConfigError
from rolecall.model.states import TaskState
from rolecall.sql import insight
from rolecall.worker.health import WorkerHealth
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions, worker_options
from rolecall.worker.persistent import PersistentWorker
from rolecall.worker.session import DatabaseSessions
from rolecall.worker.signals import stop_on_signals
from rolecall.worker.supervisor import Command, Supervisor
from rolecall.worker.worker import Worker

AppReference = Annotated[str, Option("--app", metavar="MODULE:APP", help="The App to run.")]
Processes = Annotated[int, Option(min=1, max=1_000, help="The number of processes. One that dies is restarted.")]

CALL_DEADLINE = 5.0
UntilIdle = Annotated[
    bool,
    Option("--until-idle", help="Exit when no task is left and print counts; exit with 1 if any task failed."),
]
Reports = Annotated[bool, Option("--report/--no-report", hidden=True)]

# Flags of one of several processes. Their parent counts the tasks.
CHILD = ("--until-idle", "--no-report")
SECRETS = (DATABASE_URL, DATABASE_URL_FILE, NOTIFICATIONS)

log = logging.getLogger("rolecall.cli")


def worker(  # sizes: one option each
    shell: Shell,
    *,
    app: AppReference,
    processes: Processes = 1,
    until_idle: UntilIdle = False,
    reports: Reports = True,
    reload: Reload = False,
    reload_dir: ReloadDirs = None,
) -> None:
    if wants_reload(reload=reload, folders=reload_dir):
        if until_idle:
            raise ConfigError("cannot be combined with --reload", variable="--until-idle", value=True)
        # The embedded server keeps running across restarts. Only the restarted process imports the app.
        with suppress(Terminated), shell.ready_database():
            run_and_reload(_reloaded_command(shell, app, processes), reload_dir)
        return
    loaded = load_app(app)
    with suppress(Terminated), shell.ready_database(migrations=loaded.migrations) as dsn:
        if until_idle:
            _work_until_idle(shell, dsn, loaded, worker_commands(shell, app, processes, *CHILD), reports=reports)
            return
        announce(shell, {"app": app, "processes": processes})
        work(shell, dsn, loaded, worker_commands(shell, app, processes))


def _reloaded_command(shell: Shell, reference: str, processes: int) -> Command:
    words = reloaded_words(shell, "worker", reference, processes, [*WORKING, *PROBING])
    return Command(name="The worker", arguments=words, environment={**secrets_of(shell), **UNCOMPILED})


def reloaded_words(
    shell: Shell, verb: str, reference: str | None, processes: int, settings: Iterable[Setting[object]]
) -> list[str]:
    """Return the command line of this command for `--reload`."""
    words = command_line(shell, verb, reference, [*settings, *DATABASE, *LOGGING])
    return [*words, "--processes", str(processes), *(["--json"] if shell.as_json else [])]


def _work_until_idle(shell: Shell, dsn: str, app: App, workers: Sequence[Command], *, reports: bool) -> None:
    """Work until no task is left, then count finished and open tasks by role and state."""
    options = replace(worker_options(shell.settings), until_idle=True)
    if not reports:
        work(shell, dsn, app, workers, options=options)
        return
    with connect(dsn, "cli") as connection:
        check(connection)
        began = ask(connection, insight.clock())
    work(shell, dsn, app, workers, options=options)
    with connect(dsn, "cli") as connection:
        counts = ask(connection, insight.counts_of_run(options.served, began))
    rows = [(each.role, each.state, each.number) for each in counts]
    shell.show({"counts": counts}, lambda: cli.print_table(("role", "state", "tasks"), rows, "no tasks"))
    if any(each.state == TaskState.FAILED for each in counts):
        raise Exit(1)


def announce(shell: Shell, facts: Mapping[str, object]) -> None:
    """Announce that the database is available and what is being started."""
    database = shell.settings.database
    where = str(database.data_dir.absolute()) if database.embedded else None
    document = {**facts, "embedded": database.embedded, "data_dir": where}
    shell.show(document, lambda: log.info("Working on %s", where or "the configured Postgres"))
    sys.stdout.flush()


def work(  # sizes: shared by `up` and `worker`
    shell: Shell,
    dsn: str,
    app: App,
    workers: Sequence[Command],
    more_commands: Sequence[Command] = (),
    *,
    persistent: bool = False,
    options: WorkerOptions | None = None,
) -> None:
    """Run the app's tasks until stopped: one worker in this process, several under a supervisor.

    The `more_commands` run in processes of their own. A `persistent` worker retries a failed start.
    """
    if len(workers) == 1:
        chosen = options or worker_options(shell.settings)
        worker = PersistentWorker(lambda: Worker(app, dsn, chosen)) if persistent else Worker(app, dsn, chosen)
        with answering_scrapes(shell, app), answering_probes(shell, app, worker.health):
            run(_run(worker, Supervisor(more_commands)))
        return
    with notifying_systemd(WorkerHealth):
        code = run(Supervisor([*workers, *more_commands], partial(_rescue_dead, dsn, shell.settings)).run())
    if code:
        raise Exit(code)


def worker_commands(shell: Shell, reference: str | None, number: int, *flags: str) -> list[Command]:
    """Return the commands that start `number` workers with these settings and flags."""
    words = [*command_line(shell, "worker", reference, [*WORKING, *DATABASE, *LOGGING]), *flags]
    return [
        Command(name="A worker", arguments=words, environment={**secrets_of(shell), **_own_probes(shell, turn)})
        for turn in range(number)
    ]


def _own_probes(shell: Shell, turn: int) -> Mapping[str, str]:
    """Return the probe addresses of one of several workers. Their parent notifies systemd."""
    settings = shell.settings.worker
    return {
        METRICS.name: address_of_turn(settings.metrics, turn),
        HEALTH.name: address_of_turn(settings.health, turn),
        HEALTH_FILE.name: f"{settings.health_file}.{turn + 1}" if settings.health_file else "",
        NOTIFY_SOCKET: "",
    }


def command_line(shell: Shell, verb: str, reference: str | None, settings: Iterable[Setting[object]]) -> list[str]:
    """Return the command line of another command, with those of the given flags that apply to it and are not secret."""
    app = ["--app", reference] if reference else []
    known = [setting for setting in settings if setting.name in shell.flags and setting not in SECRETS]
    flags = [part for setting in known for part in (setting.flag, shell.flags[setting.name])]
    return [sys.executable, "-m", "rolecall", verb, *app, *flags]


def secrets_of(shell: Shell) -> Mapping[str, str]:
    """Return the secrets for another command's environment. Its command line would be visible to all users."""
    # All other variables are inherited. The first name of the address takes precedence over the others, so that the
    # application's own DATABASE_URL can stay as it is.
    return {
        DATABASE_URL.names[0]: shell.settings.database.url or "",
        **dict.fromkeys(DATABASE_URL_FILE.names, ""),
        NOTIFICATIONS.name: shell.settings.notifications,
    }


async def _rescue_dead(dsn: str, settings: Settings) -> None:
    session = DatabaseSessions(dsn, deadline=CALL_DEADLINE, pooled=settings.database.pooled).open("supervise")
    try:
        await rescue_neighbours(session)
    finally:
        await session.close()


async def _run(worker: Worker | PersistentWorker, supervisor: Supervisor) -> None:
    with stop_on_signals(worker, supervisor):
        keeping = asyncio.create_task(supervisor.keep())
        try:
            await worker.run()
        finally:
            supervisor.stop()
            await keeping
