"""The pool's upkeep by a process that serves: in a thread with a loop of its own, so that no request can hold it.

It is that of a worker. Any number of processes may do it, so schedules fire without a worker as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from rolecall.app import App
from rolecall.maintenance import fire, rescue
from rolecall.maintenance.crew import Crew
from rolecall.worker.loop import run
from rolecall.worker.options import WorkerOptions
from rolecall.worker.registration import declare
from rolecall.worker.session import DatabaseSession, DatabaseSessions

__all__ = ["upkeep"]

END_WITHIN = 5.0

log = logging.getLogger("rolecall.web")


@contextmanager
def upkeep(dsn: str, app: App, *, pooled: bool | None) -> Iterator[None]:
    """Declare the app and put right what was left behind, then keep the pool in order until the block ends.

    Raises InvalidDeclaration, SchemaMissing, SchemaTooNew.
    """
    thread = _Upkeep(dsn, app, pooled=pooled)
    thread.begin()
    try:
        yield
    finally:
        thread.end()


class _Upkeep:
    def __init__(self, dsn: str, app: App, *, pooled: bool | None) -> None:
        self._app = app
        self._session = DatabaseSessions(dsn, deadline=WorkerOptions().call_deadline, pooled=pooled).open("upkeep")
        self._crew = Crew(self._session)
        self._begun: Future[asyncio.AbstractEventLoop] = Future()
        # As a daemon it holds nobody's end, whatever the database does.
        self._thread = Thread(target=lambda: run(self._keep()), name="rolecall-upkeep", daemon=True)

    def begin(self) -> None:
        """Return once the pool is in order; a signal may interrupt that."""
        self._thread.start()
        self._begun.result()

    def end(self) -> None:
        """End every duty after its current run, or when that takes long without it."""
        self._begun.result().call_soon_threadsafe(self._stop)
        self._thread.join(END_WITHIN)

    def _stop(self) -> None:
        self._crew.stop()
        self._session.give_up()

    async def _keep(self) -> None:
        try:
            await _put_right(self._session, self._app)
        except BaseException as error:  # noqa: BLE001 - it is raised again where somebody waits for it
            self._begun.set_exception(error)
        else:
            log.info("Answering requests")
            self._begun.set_result(asyncio.get_running_loop())
            await self._crew.run()
        finally:
            await self._session.close()


async def _put_right(session: DatabaseSession, app: App) -> None:
    app.check()
    await declare(session, app)
    await rescue.run_once(session)
    await fire.run_once(session)
