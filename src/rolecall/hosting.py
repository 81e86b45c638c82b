"""An app inside another process, such as a web server: a client and, optionally, a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from rolecall.app import App
from rolecall.client.async_client import AsyncClient
from rolecall.client.source import Source
from rolecall.config import read_settings
from rolecall.worker.options import WorkerOptions, worker_options
from rolecall.worker.worker import Worker


@asynccontextmanager
async def running(
    app: App, database: str | None = None, *, worker: WorkerOptions | bool = False, pooled: bool | None = None
) -> AsyncIterator[AsyncClient]:
    """Yield a connected client, and optionally run a worker: for the lifespan of a web application.

        @asynccontextmanager
        async def lifespan(api: FastAPI) -> AsyncGenerator[dict[str, AsyncClient]]:
            async with running(app, worker=True) as client:
                yield {"client": client}

    When the block begins, the client is connected and the app's declarations are stored. `database` and `pooled` are
    those of AsyncClient. With `worker`, a worker runs in this event loop, with the given options or those from the
    environment. It does not handle signals. When the block ends, running tasks may finish within the worker's grace
    period. An error of the worker is logged at once and raised at the end of the block, unless the block raises another
    one. Raises DatabaseUnavailable, SchemaMissing and other errors that prevent a client or a worker from starting.
    """
    source = Source(database, pooled=pooled)
    try:
        dsn = await asyncio.to_thread(source.attach)
        async with AsyncClient(dsn, app=app, pooled=source.pooled()) as client:
            await client.open()
            if worker is False:
                yield client
                return
            options = worker_options(read_settings()) if worker is True else worker
            pooled = options.pooled if options.pooled is not None else source.pooled()
            async with _run_worker(Worker(app, dsn, replace(options, pooled=pooled))):
                yield client
    finally:
        await asyncio.to_thread(source.detach)


@asynccontextmanager
async def _run_worker(worker: Worker) -> AsyncIterator[None]:
    working = asyncio.create_task(worker.run(), name="rolecall-worker")
    started = asyncio.create_task(worker.started())
    try:
        await asyncio.wait({working, started}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        yield
    finally:
        started.cancel()
        worker.stop()
        await asyncio.gather(working, return_exceptions=True)
    working.result()
