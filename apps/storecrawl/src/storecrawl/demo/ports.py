"""Ports of this machine: a free one to tell somebody of, one that is held from now on, whether one answers."""

from __future__ import annotations

import socket
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

LOOPBACK = "127.0.0.1"
ANY = 0
ANSWER_SECONDS = 2.0


def free_port(wanted: int | None = None) -> int:
    """Return the port that is wanted, or any other where that one is taken."""
    if wanted is not None and _is_free(wanted):
        return wanted
    with socket.socket() as probe:
        probe.bind((LOOPBACK, ANY))
        port: int = probe.getsockname()[1]
        return port


def listen_at(wanted: int) -> socket.socket:
    """Hold the port that is wanted, or any other where that one is taken: whoever connects waits to be served."""
    try:
        return socket.create_server((LOOPBACK, wanted))
    except OSError:
        return socket.create_server((LOOPBACK, ANY))


def answers(address: str) -> bool:
    """Whether a server answers there; whoever holds the port for it lets the question wait for a while."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
