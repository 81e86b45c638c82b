"""`rolecall worker`: claim and run tasks until told to stop."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

from typer import Exit, Option

from rolecall.app import App
from rolecall.cli.locate import load_app
from rolecall.cli.shell import Shell
from rolecall.cli.termination import Terminated, unwinding_on_sigterm
from rolecall.config import FLAGS, WorkerSettings
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions
from rolecall.worker.signals import stop_on_signals
from rolecall.worker.supervisor import Supervisor
from rolecall.worker.worker import Worker

AppReference = Annotated[str, Option("--app", metavar="MODULE:APP", help="The App to run.")]
Processes = Annotated[int, Option(min=1, max=1_000, help="How many processes; what dies is restarted.")]

log = logging.getLogger("rolecall.cli")


def worker(shell: Shell, *, app: AppReference, processes: Processes = 1) -> None:
    """Claim and run tasks until SIGTERM: then finish what runs, give back the rest, exit 0."""
    loaded = load_app(app)
    try:
        with shell.database() as dsn:
            announce(shell, app, processes)
            work(shell, dsn, loaded, app, processes)
    except Terminated:
        return


def announce(shell: Shell, app: str | None, processes: int) -> None:
    """Say that the database is there and the workers start."""
    database = shell.settings.database
    where = str(database.data_dir.absolute()) if database.embedded else None
    document = {"app": app, "processes": processes, "embedded": database.embedded, "data_dir": where}
    shell.show(document, lambda: log.info("Working on %s", where or "the given Postgres"))
    sys.stdout.flush()


def work(shell: Shell, dsn: str, app: App, reference: str | None, processes: int) -> None:
    """Run the app's tasks, in this process or in several under a supervisor, until told to stop."""
    if processes == 1:
        with unwinding_on_sigterm():
            run(_run(Worker(app, dsn, worker_options(shell.settings.worker))))
    elif code := run(Supervisor(_one_process(shell, reference), processes).run()):
        raise Exit(code)


def worker_options(settings: WorkerSettings) -> WorkerOptions:
    """The worker's options as the settings say."""
    return WorkerOptions(
        roles=settings.roles,
        name=settings.name,
        slots=settings.slots,
        poll_interval=settings.poll_interval,
        heartbeat_interval=settings.heartbeat_interval,
        grace=settings.grace,
    )


async def _run(worker: Worker) -> None:
    with stop_on_signals(worker):
        await worker.run()


def _one_process(shell: Shell, reference: str | None) -> list[str]:
    app = ["--app", reference] if reference else []
    settings = [part for variable, text in shell.flags.items() for part in (FLAGS[variable], text)]
    return [sys.executable, "-m", "rolecall", "worker", *app, *settings]
