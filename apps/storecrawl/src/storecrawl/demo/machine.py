"""The demo's resources on this machine: its folder, the files in it, and ports."""

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
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock the folder for the duration of the block; the kernel releases it however the demo ends.

    Raises ConfigError if the folder cannot be created or written, or another demo has locked it.
    """
    descriptor = _open_lock(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConfigError(f"another demo is running in {folder}", variable=FLAG, value=folder) from None
    finally:
        os.close(descriptor)


def read_token(folder: Path) -> str | None:
    """Return the token for programs and browsers of this machine, or None if there is none."""
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


def free_port(preferred_port: int | None = None) -> int:
    """Return the preferred port, or any other one if it is taken."""
    if preferred_port is not None and _is_free(preferred_port):
        return preferred_port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, ANY))
        port: int = probe.getsockname()[1]
        return port


def listen_at(preferred_port: int) -> socket.socket:
    """Listen on the preferred port, or any other one if it is taken. Connections wait until they are served."""
    try:
        return socket.create_server((LOOPBACK, preferred_port))
    except OSError:
        return socket.create_server((LOOPBACK, ANY))


def responds(address: str) -> bool:
    """Return whether a server responds. A port without a server yet makes the request wait for a while."""
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
