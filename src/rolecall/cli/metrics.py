"""A worker's Prometheus endpoint."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rolecall.app import App
from rolecall.cli.shell import Shell

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
    from rolecall.telemetry.prometheus import collector_of, serving  # noqa: PLC0415 - needs the extra

    host, port = address
    with serving([collector_of(app)], host, port) as heard_at:
        log.info("Metrics are served at http://%s:%d/metrics", f"[{host}]" if ":" in host else host, heard_at)
        yield


def scrape(app: App) -> Callable[[str], tuple[bytes, str]]:
    """Collect metrics of the app's tasks. Return a function from an Accept header to a body and its content type.

    Raises ConfigError if the extra is not installed.
    """
    from rolecall.telemetry.prometheus import collector_of, exposition  # noqa: PLC0415 - needs the extra

    return partial(exposition, [collector_of(app)])


def address_of_turn(first: tuple[str, int] | None, turn: int) -> str:
    """Return the address of worker number `turn`. Ports are consecutive, starting at the given one."""
    if first is None:
        return ""
    host, port = first
    return f"{f'[{host}]' if ':' in host else host}:{port + turn if port else 0}"
