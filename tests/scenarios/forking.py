"""A worker process whose handlers fork: `python -m tests.scenarios.forking DSN FOLDER`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from pathlib import Path

from rolecall import App, Context, Worker, WorkerOptions, immediate
from rolecall.worker.loop import run

AWHILE = 5.0


def make_app() -> App:
    app = App("forking")
    app.role("r", retry=immediate(), max_attempts=2)

    @app.task(role="r")
    async def plain(n: int) -> dict[str, int]:
        return {"n": n, "pid": os.getpid()}

    @app.task(role="r")
    async def careless(ctx: Context, how: str, folder: str) -> dict[str, int]:
        """Fork while a transaction is open, and let the child come back."""
        async with ctx.transaction() as tx:
            await tx.execute("select 1")
            if not fork(folder):
                if how == "await":
                    await asyncio.sleep(AWHILE)
                come_back(how)
            await tx.execute("select 1")
        return {"pid": os.getpid()}

    @app.task(role="r")
    def careless_thread(how: str, folder: str) -> dict[str, int]:
        if not fork(folder):
            come_back(how)
        return {"pid": os.getpid()}

    app.task(role="r", process=True)(careless_process)

    @app.task(role="r")
    def careful(folder: str) -> dict[str, int]:
        """Fork as programs do: the child does its work, and ends without coming back."""
        child = fork(folder)
        if not child:
            (Path(folder) / "worked").touch()
            os._exit(3)
        return {"code": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}

    return app


def careless_process(how: str, folder: str) -> dict[str, int]:
    if not fork(folder):
        time.sleep(0.2)  # the worker has sent it the next task
        come_back(how)
    return {"pid": os.getpid()}


def fork(folder: str) -> int:
    """Fork; note who the child is."""
    child = os.fork()
    if child:
        (Path(folder) / "child").write_text(str(child))
    return child


def come_back(how: str) -> None:
    if how == "raise":
        raise ValueError("in the child")
    if how == "exit":
        sys.exit(0)


async def main(dsn: str) -> None:
    await Worker(make_app(), dsn, WorkerOptions(roles=("r",), slots=2, maintenance=False)).run()


if __name__ == "__main__":
    logging.basicConfig(level="INFO", stream=sys.stderr, format="%(message)s")
    run(main(sys.argv[1]))
