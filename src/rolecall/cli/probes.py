"""A worker's health checks: over HTTP, in a file, and through systemd's notification socket.

    http thread    ──▶ worker.health()     GET /healthz, /readyz: 200, or 503 with the reason
    health thread  ──▶ worker.health()     every five seconds: touch the file, notify systemd

Both run outside the worker's event loop, so that they also answer when the loop is blocked.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

from rolecall.app import App
from rolecall.cli.metrics import METRICS, metrics_page
from rolecall.cli.pages import Page, serving_pages
from rolecall.cli.shell import Shell
from rolecall.config.worker import HEALTH, HEALTH_FILE
from rolecall.model.errors import ConfigError
from rolecall.worker.health import WorkerHealth

ALIVE, READY = "/healthz", "/readyz"
NOTIFY_SOCKET = "NOTIFY_SOCKET"
WATCHDOG = "WATCHDOG_USEC"
TOUCHED_EVERY = 5.0

ReadHealth = Callable[[], WorkerHealth]
ReportHealth = Callable[[WorkerHealth], None]

log = logging.getLogger("rolecall.cli")


@contextmanager
def answering_probes(shell: Shell, app: App, read_health: ReadHealth) -> Iterator[None]:
    """Publish a worker's health wherever the settings and systemd expect it, until the block ends.

    Raises ConfigError if an address cannot be bound or the file cannot be written.
    """
    settings = shell.settings.worker
    with ExitStack() as stack:
        if settings.health is not None:
            pages = {ALIVE: _alive(read_health), READY: _ready(read_health)}
            if settings.health == settings.metrics:
                pages[METRICS] = metrics_page(app)
            address_text = stack.enter_context(serving_pages(settings.health, pages, HEALTH))
            log.info("Probes are served at http://%s%s and %s", address_text, ALIVE, READY)
        reporters: list[ReportHealth] = []
        if settings.health_file is not None:
            reporters.append(stack.enter_context(_touch_file(settings.health_file)))
        stack.enter_context(_reporting(read_health, [*reporters, *_systemd()]))
        yield


@contextmanager
def notifying_systemd(read_health: ReadHealth) -> Iterator[None]:
    """Notify systemd that this process is running, if systemd started it and expects notifications."""
    with _reporting(read_health, _systemd()):
        yield


@contextmanager
def _reporting(read_health: ReadHealth, reporters: list[ReportHealth]) -> Iterator[None]:
    if not reporters:
        yield
        return
    is_ending = threading.Event()
    thread = threading.Thread(target=_report_health, args=(read_health, reporters, is_ending), name="rolecall-health")
    thread.start()
    try:
        yield
    finally:
        is_ending.set()
        thread.join()


def _report_health(read_health: ReadHealth, reporters: list[ReportHealth], is_ending: threading.Event) -> None:
    watchdog = int(os.environ.get(WATCHDOG) or 0) / 1e6
    every = min(TOUCHED_EVERY, watchdog / 2) if watchdog else TOUCHED_EVERY
    dead = False
    while True:
        health = read_health()
        if dead == health.alive:
            dead = not dead
            if dead:
                log.warning("This worker is unhealthy: %s", health.reason)
            else:
                log.info("This worker is healthy again")
        for report in reporters:
            report(health)
        if is_ending.wait(every):
            return


@contextmanager
def _touch_file(file: Path) -> Iterator[ReportHealth]:
    """Keep a file whose age is the time since the worker was last alive. Its content is the readiness."""

    def touch(health: WorkerHealth) -> None:
        if health.alive:
            try:
                _write(file, "ready\n" if health.ready else f"not ready: {health.reason}\n")
            except OSError as error:
                log.warning("Cannot write the health file: %s", error)

    try:
        _write(file, "not ready: the worker has not started yet\n")
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise ConfigError(problem, variable=HEALTH_FILE.name, value=str(file)) from None
    try:
        yield touch
    finally:
        with suppress(OSError):
            file.unlink()


def _write(file: Path, text: str) -> None:
    # Replacing the file is atomic: readers never see half of it.
    new = file.with_name(f"{file.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def _systemd() -> list[ReportHealth]:
    """Return a function that notifies systemd (sd_notify(3)), if systemd expects that."""
    address = os.environ.get(NOTIFY_SOCKET, "")
    if not address.startswith(("/", "@")):
        return []

    def notify(health: WorkerHealth) -> None:
        state = f"READY=1\nSTATUS={health.reason or 'works'}\n" + ("WATCHDOG=1\n" if health.alive else "")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door, suppress(OSError):
            door.sendto(state.encode(), address.replace("@", "\0", 1) if address.startswith("@") else address)

    return [notify]


def _alive(read_health: ReadHealth) -> Page:
    def page(_accept: str) -> tuple[HTTPStatus, bytes, str]:
        health = read_health()
        return _verdict(good=health.alive, reason=health.reason)

    return page


def _ready(read_health: ReadHealth) -> Page:
    def page(_accept: str) -> tuple[HTTPStatus, bytes, str]:
        health = read_health()
        return _verdict(good=health.ready, reason=health.reason)

    return page


def _verdict(*, good: bool, reason: str) -> tuple[HTTPStatus, bytes, str]:
    document = {"status": "ok"} if good else {"status": "unwell", "reason": reason}
    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    return status, json.dumps(document).encode(), "application/json"
