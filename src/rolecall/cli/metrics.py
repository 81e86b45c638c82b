"""Where a worker answers Prometheus: at an address of its own, as long as it works."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rolecall.app import App
from rolecall.cli.shell import Shell

__all__ = ["address_of_turn", "answering_scrapes", "scrape"]

log = logging.getLogger("rolecall.cli")


@contextmanager
def answering_scrapes(shell: Shell, app: App) -> Iterator[None]:
    """Count what the app's tasks do and answer scrapes meanwhile, if the settings name an address.

    Raises ConfigError where its extra is not installed, or the address cannot be had.
    """
    address = shell.settings.worker.metrics
    if address is None or address == shell.settings.worker.health:
        # Who answers probes there answers scrapes, too.
        yield
        return
    from rolecall.telemetry.prometheus import collector_of, serving  # noqa: PLC0415 - it needs the extra

    host, port = address
    with serving([collector_of(app)], host, port) as heard_at:
        log.info("Metrics are served at http://%s:%d/metrics", f"[{host}]" if ":" in host else host, heard_at)
        yield


def scrape(app: App) -> Callable[[str], tuple[bytes, str]]:
    """Count what the app's tasks do, and return what answers a scrape: given what it accepts, a text and its type.

    Raises ConfigError where its extra is not installed.
    """
    from rolecall.telemetry.prometheus import collector_of, exposition  # noqa: PLC0415 - it needs the extra

    return partial(exposition, [collector_of(app)])


def address_of_turn(first: tuple[str, int] | None, turn: int) -> str:
    """The address of one of several workers: the ports follow each other, from the given one on."""
    if first is None:
        return ""
    host, port = first
    return f"{f'[{host}]' if ':' in host else host}:{port + turn if port else 0}"
