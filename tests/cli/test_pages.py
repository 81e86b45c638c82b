"""The HTTP server of a worker's probes and metrics: bounded connections, and a time limit for each."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http import HTTPStatus

import httpx2
import pytest

from rolecall import ConfigError
from rolecall.cli import pages
from rolecall.cli.pages import MOST_CONNECTIONS, serving_pages
from rolecall.config.worker import HEALTH
from tests.cli.attackers import open_to

ANY_PORT = ("127.0.0.1", 0)
PAGES = {"/healthz": lambda _accept: (HTTPStatus.OK, b"fine", "text/plain")}


@pytest.fixture
def url() -> Iterator[str]:
    with serving_pages(ANY_PORT, PAGES, HEALTH) as address:
        yield f"http://{address}"


def is_closed_after_a_byte(client: socket.socket) -> bool:
    """Send one more byte of a request, and return whether the server has closed the connection."""
    client.settimeout(0.05)
    try:
        client.sendall(b"a")
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_slow_request_is_cut_off_at_the_time_limit(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PATIENCE", 0.5)

    with open_to(url) as client:
        assert any(is_closed_after_a_byte(client) for _ in range(400))


def test_probe_is_answered_while_others_hold_every_connection(url: str) -> None:
    with ExitStack() as stack:
        for _ in range(MOST_CONNECTIONS):
            stack.enter_context(open_to(url))

        assert httpx2.get(f"{url}/healthz").text == "fine"


def test_threads_are_bounded(url: str) -> None:
    with ExitStack() as stack:
        for _ in range(2 * MOST_CONNECTIONS):
            stack.enter_context(open_to(url))
        httpx2.get(f"{url}/healthz")

        names = [thread.name for thread in threading.enumerate()]
        assert sum("process_request_thread" in name for name in names) <= MOST_CONNECTIONS


def test_address_in_use_is_named() -> None:
    with serving_pages(ANY_PORT, PAGES, HEALTH) as address:
        host, port = address.split(":")
        with (
            pytest.raises(ConfigError, match=f"ROLECALL_HEALTH.*cannot listen on {address}"),
            serving_pages((host, int(port)), PAGES, HEALTH),
        ):
            pass
