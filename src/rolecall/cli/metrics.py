"""A worker's Prometheus endpoint."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from rolecall.app import App
from rolecall.cli.pages import Page, serving_pages
from rolecall.cli.shell import Shell
from rolecall.config.worker import METRICS as METRICS_ADDRESS

METRICS = "/metrics"

log = logging.getLogger("rolecall.cli")


@contextmanager
def answering_scrapes(shell: Shell, app: App) -> Iterator[None]:
    """Collect metrics of the app's tasks and serve them in the meantime, if the settings contain an address.

    Raises ConfigError if the extra is not installed or the address cannot be bound.
    """
    address = shell.settings.worker.metrics
    if address is None or address == shell.settings.worker.health:
        # The server of the health probes serves the metrics as well.
        yield
        return
    with serving_pages(address, {METRICS: metrics_page(app)}, METRICS_ADDRESS) as address_text:
        log.info("Metrics are served at http://%s%s", address_text, METRICS)
        yield


def metrics_page(app: App) -> Page:
    """Collect metrics of the app's tasks, and return the page that shows them.

    Raises ConfigError if the extra is not installed.
    """
    from rolecall.telemetry.prometheus import collector_of, exposition  # noqa: PLC0415 - needs the extra

    collectors = [collector_of(app)]
    return lambda accept: (HTTPStatus.OK, *exposition(collectors, accept))


def address_of_turn(first: tuple[str, int] | None, turn: int) -> str:
    """Return the address of worker number `turn`. Ports are consecutive, starting at the given one."""
    if first is None:
        return ""
    host, port = first
    return f"{f'[{host}]' if ':' in host else host}:{port + turn if port else 0}"
