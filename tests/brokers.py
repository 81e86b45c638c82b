"""Real Redis and NATS servers on loopback, which a test can stop, kill and restart."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tools.servers import program

START_SECONDS = 20.0
REDIS_OPTIONS = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no")


class Broker:
    """A server on a loopback port. After `kill` or `stop`, `start` restarts it at the same address."""

    def __init__(
        self, command: Callable[[int], list[str]], scheme: str, environment: Mapping[str, str], folder: Path
    ) -> None:
        self.port = free_port()
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._command = command(self.port)
        self._environment = environment
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        quiet = subprocess.DEVNULL
        with_us = ["setpriv", "--pdeathsig=KILL", "--"] if shutil.which("setpriv") else []
        self._process = subprocess.Popen(
            [*with_us, *self._command],
            env={**os.environ, **self._environment},
            stdout=quiet,
            stderr=quiet,
            cwd=self._folder,
        )
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def kill(self) -> None:
        """Kill it: its clients see a reset, and its data in memory is lost."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the server cleanly, as an administrator does."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Stop it from answering, with its connections open."""
        self._living.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._living.send_signal(signal.SIGCONT)

    @property
    def _living(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("this broker was not started")
        return self._process

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
            self._process.wait(START_SECONDS)
            self._process = None


def free_port() -> int:
    """Return a loopback port that is free at this moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def redis(*options: str, by: str = "redis-server") -> Iterator[Broker]:
    """Run Redis or a compatible server during the block, with additional options."""
    path, environment = _found(by)
    with _running(lambda port: [str(path), *REDIS_OPTIONS, "--port", str(port), *options], "redis", environment) as it:
        yield it


@contextmanager
def sentinel(name: str, port: int, *settings: str) -> Iterator[Broker]:
    """Run a Sentinel that watches the master at a port, and quickly considers it dead."""
    path, environment = _found("redis-sentinel")
    text = f"""bind 127.0.0.1
sentinel monitor {name} 127.0.0.1 {port} 1
sentinel down-after-milliseconds {name} 500
sentinel failover-timeout {name} 5000
"""
    text += "".join(f"{line}\n" for line in settings)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sentinel.conf")
        file.write_text(text, encoding="ascii")
        with _running(lambda port: [str(path), str(file), "--port", str(port)], "redis", environment) as it:
            yield it


@contextmanager
def nats() -> Iterator[Broker]:
    path, environment = _found("nats-server")
    with _running(lambda port: [str(path), "-a", "127.0.0.1", "-p", str(port)], "nats", environment) as it:
        yield it


@contextmanager
def cutting_server() -> Iterator[int]:
    """Listen on a port, and reset every connection immediately or within a millisecond."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        cutting = Thread(target=_cut_all, args=(server,))
        cutting.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            cutting.join()


def _cut_all(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(random.choice((0, random.random() / 1000)))
        connection.close()


@pytest.fixture
def redis_server() -> Iterator[Broker]:
    """A Redis server for one test. It starts within some 20 ms."""
    with redis() as server:
        yield server


@pytest.fixture
def nats_server() -> Iterator[Broker]:
    """A NATS server for one test."""
    with nats() as server:
        yield server


@contextmanager
def _running(command: Callable[[int], list[str]], scheme: str, environment: Mapping[str, str]) -> Iterator[Broker]:
    with tempfile.TemporaryDirectory() as folder:
        server = Broker(command, scheme, environment, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.kill()


def _found(name: str) -> tuple[Path, Mapping[str, str]]:
    found = program(name)
    if found is None:
        pytest.skip(f"{name} is not installed: run ./dev servers")
    return found
