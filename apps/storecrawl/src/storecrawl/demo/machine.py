"""What a demo has of this machine: its folder, with what it remembers there, and ports."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from rolecall import ConfigError

FLAG = "--data-dir"
LOCK = "demo.lock"
PAYLOADS = "payloads"
UPSTREAM_LOG = "upstream.log"
WORKERS_LOG = "workers.log"
API_LOG = "api.log"
API_TOKEN = "local-token"  # noqa: S105 - a file's name
LOOPBACK = "127.0.0.1"
ANY = 0
ANSWER_SECONDS = 2.0


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder for the length of the block; however the demo ends, the kernel frees it.

    Raises ConfigError for a folder that cannot be made or written, or that another demo holds.
    """
    descriptor = _open_lock(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConfigError(f"another demo is at work in {folder}", variable=FLAG, value=folder) from None
    finally:
        os.close(descriptor)


def read_token(folder: Path) -> str | None:
    """The token with which programs and browsers of this machine come in; None where there is none."""
    try:
        return (folder / API_TOKEN).read_text("ascii").strip()
    except OSError:
        return None


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used: {error.strerror}", variable=FLAG, value=folder) from error


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
