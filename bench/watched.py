"""The environment of the measured pages: the web server, a worker with a steady load, and an open page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from threading import Event, Thread

from playwright.sync_api import sync_playwright

from bench.pages_app import app, tick
from bench.server import Server
from rolecall.client.sync_client import Client
from tools.browser import find

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-m", "rolecall.cli")
BATCHES_A_SECOND = 10
STOP_SECONDS = 20.0
APP = "bench.pages_app:app"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The web server: the address at which a browser logs in, and the session of its processes."""

    address: str
    session: int


@contextmanager
def serving(server: Server) -> Iterator[Site]:
    """Serve the pages in a separate process."""
    with _process(server, "serve", "--app", APP, "--port", "0", "--json") as process:
        lines = iter(process.stdout or ())
        document = "".join([next(lines), *takewhile(lambda line: line != "}\n", lines), "}"])
        result = json.loads(document)
        token = Path(result["token_file"]).read_text(encoding="ascii").strip()
        yield Site(address=f"{result['http']}/enter?token={token}", session=process.pid)


@contextmanager
def working(server: Server, rate: int) -> Iterator[None]:
    """Enqueue this many tasks per second, and run a worker for them."""
    stop = Event()
    thread = Thread(target=_enqueue, args=(server.dsn, rate, stop))
    with _process(server, "worker", "--app", APP, "--roles", "steady", "--slots", "10"):
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@contextmanager
def looking_at(address: str) -> Iterator[None]:
    """Keep a page open in a real browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(address)
        page.locator("#stream-state[data-state=on]").wait_for(state="attached")
        yield
        browser.close()


def _enqueue(dsn: str, rate: int, stop: Event) -> None:
    with Client(dsn, app=app) as client:
        while not stop.wait(1 / BATCHES_A_SECOND):
            client.enqueue_many(tick.task(number=number) for number in range(rate // BATCHES_A_SECOND))


@contextmanager
def _process(server: Server, *words: str) -> Iterator[subprocess.Popen[str]]:
    command: Sequence[str] = (*COMMAND, *words, "--log-level", "warning")
    environment = {**os.environ, "DATABASE_URL": server.dsn}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
