"""`rolecall worker`: claim and run tasks until told to stop."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from typer import Exit, Option

from rolecall import cli
from rolecall.app import App
from rolecall.cli.exits import Terminated
from rolecall.cli.locate import load_app
from rolecall.cli.metrics import answering_scrapes, metrics_address
from rolecall.cli.options import DATABASE, LOGGING, WORKING
from rolecall.cli.shell import Shell
from rolecall.config import Setting, Settings
from rolecall.config.brokers import NOTIFICATIONS
from rolecall.config.database import DATABASE_URL, DATABASE_URL_FILE
from rolecall.config.worker import METRICS
from rolecall.db.connect import connect
from rolecall.db.migrator import check
from rolecall.db.run import run as ask
from rolecall.maintenance.deaths import rescue_neighbours
from rolecall.model.states import TaskState
from rolecall.sql import insight
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions, worker_options
from rolecall.worker.persistent import PersistentWorker
from rolecall.worker.session import DatabaseSessions
from rolecall.worker.signals import stop_on_signals
from rolecall.worker.supervisor import Command, Supervisor
from rolecall.worker.worker import Worker

AppReference = Annotated[str, Option("--app", metavar="MODULE:APP", help="The App to run.")]
Processes = Annotated[int, Option(min=1, max=1_000, help="How many processes; what dies is restarted.")]

CALL_DEADLINE = 5.0
UntilIdle = Annotated[
    bool,
    Option("--until-idle", help="End when nothing is left to do, and print counts; exit 1 if anything failed."),
]
Reports = Annotated[bool, Option("--report/--no-report", hidden=True)]

# One of several processes, for which the command that started them counts.
CHILD = ("--until-idle", "--no-report")
SECRETS = (DATABASE_URL, DATABASE_URL_FILE, NOTIFICATIONS)

log = logging.getLogger("rolecall.cli")


def worker(
    shell: Shell,
    *,
    app: AppReference,
    processes: Processes = 1,
    until_idle: UntilIdle = False,
    reports: Reports = True,
) -> None:
    """Claim and run tasks until SIGTERM, Ctrl-C or SIGHUP: then finish what runs, give back the rest, exit 0."""
    loaded = load_app(app)
    try:
        with shell.ready_database(migrations=loaded.migrations) as dsn:
            if until_idle:
                _work_until_idle(shell, dsn, loaded, worker_commands(shell, app, processes, *CHILD), reports=reports)
                return
            announce(shell, {"app": app, "processes": processes})
            work(shell, dsn, loaded, worker_commands(shell, app, processes))
    except Terminated:
        return


def _work_until_idle(shell: Shell, dsn: str, app: App, workers: Sequence[Command], *, reports: bool) -> None:
    """Work until nothing is left, then count by role and state what has ended meanwhile and what is open."""
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
    shell.show({"counts": counts}, lambda: cli.print_table(("role", "state", "tasks"), rows, "there was nothing to do"))
    if any(each.state == TaskState.FAILED for each in counts):
        raise Exit(1)


def announce(shell: Shell, facts: Mapping[str, object]) -> None:
    """Say that the database is there, and what starts."""
    database = shell.settings.database
    where = str(database.data_dir.absolute()) if database.embedded else None
    document = {**facts, "embedded": database.embedded, "data_dir": where}
    shell.show(document, lambda: log.info("Working on %s", where or "the given Postgres"))
    sys.stdout.flush()


def work(  # sizes: what `up` and `worker` share
    shell: Shell,
    dsn: str,
    app: App,
    workers: Sequence[Command],
    beside: Sequence[Command] = (),
    *,
    persistent: bool = False,
    options: WorkerOptions | None = None,
) -> None:
    """Run the app's tasks until told to stop: a single worker in this process, several under a supervisor.

    What runs `beside` them has processes of its own. A `persistent` worker is tried again when it cannot start.
    """
    if len(workers) == 1:
        chosen = options or worker_options(shell.settings)
        worker = PersistentWorker(lambda: Worker(app, dsn, chosen)) if persistent else Worker(app, dsn, chosen)
        with answering_scrapes(shell, app):
            run(_run(worker, Supervisor(beside)))
    elif code := run(Supervisor([*workers, *beside], partial(_rescue_dead, dsn, shell.settings)).run()):
        raise Exit(code)


def worker_commands(shell: Shell, reference: str | None, number: int, *flags: str) -> list[Command]:
    """What starts so many workers with this command's settings, and these flags."""
    words = [*command_line(shell, "worker", reference, [*WORKING, *DATABASE, *LOGGING]), *flags]
    addresses = [metrics_address(shell.settings.worker.metrics, turn) for turn in range(number)]
    return [
        Command(name="A worker", arguments=words, environment={**secrets_of(shell), METRICS.name: address})
        for address in addresses
    ]


def command_line(shell: Shell, verb: str, reference: str | None, settings: Iterable[Setting[object]]) -> list[str]:
    """The words that start another command of ours, with those of the given flags that it knows and that are no
    secret.
    """
    app = ["--app", reference] if reference else []
    known = [setting for setting in settings if setting.name in shell.flags and setting not in SECRETS]
    flags = [part for setting in known for part in (setting.flag, shell.flags[setting.name])]
    return [sys.executable, "-m", "rolecall", verb, *app, *flags]


def secrets_of(shell: Shell) -> Mapping[str, str]:
    """What goes to another command of ours by its environment, as everybody can read the words that start it."""
    # Under every name: what else stands in our own environment was read already, or a flag went before it.
    return {
        **dict.fromkeys(DATABASE_URL.names, shell.settings.database.url or ""),
        **dict.fromkeys(DATABASE_URL_FILE.names, ""),
        NOTIFICATIONS.name: shell.settings.notifications,
    }


async def _rescue_dead(dsn: str, settings: Settings) -> None:
    session = DatabaseSessions(dsn, deadline=CALL_DEADLINE, pooled=settings.database.pooled).open("supervise")
    try:
        await rescue_neighbours(session)
    finally:
        await session.close()


async def _run(worker: Worker | PersistentWorker, beside: Supervisor) -> None:
    with stop_on_signals(worker, beside):
        keeping = asyncio.create_task(beside.keep())
        try:
            await worker.run()
        finally:
            beside.stop()
            await keeping
