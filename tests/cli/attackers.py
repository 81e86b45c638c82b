"""Malicious clients: each writes to a raw socket in its own thread until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from urllib.parse import urlsplit

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
PIECE = 65_536
PATIENCE = 30.0


def address_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 80)


def open_to(url: str) -> socket.socket:
    return socket.create_connection(address_of(url), timeout=PATIENCE)


class Attacker:
    """Connects and sends a beginning, then the same piece repeatedly. Reconnects whenever it is cut off."""

    def __init__(self, url: str, beginning: bytes, piece: bytes) -> None:
        self._address = address_of(url)
        self._beginning = beginning
        self._piece = piece
        self._stopped = Event()
        self._thread = Thread(target=self._attack)
        self.cut_off = 0
        self.most_sent = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _attack(self) -> None:
        while not self._stopped.is_set():
            sent = 0
            try:
                with socket.create_connection(self._address, timeout=PATIENCE) as connection:
                    connection.sendall(self._beginning)
                    while not self._stopped.is_set():
                        connection.sendall(self._piece)
                        sent += len(self._piece)
                        self.most_sent = max(self.most_sent, sent)
            except OSError:
                self.cut_off += 1


@contextmanager
def attacking(url: str, number: int, beginning: bytes, piece: bytes) -> Iterator[list[Attacker]]:
    """Run this many attackers during the block."""
    attackers = [Attacker(url, beginning, piece) for _ in range(number)]
    for attacker in attackers:
        attacker.start()
    try:
        yield attackers
    finally:
        for attacker in attackers:
            attacker.stop()


def answer_to(connection: socket.socket) -> bytes:
    """Return everything that arrives until the server closes or resets the connection."""
    parts = []
    try:
        while part := connection.recv(PIECE):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server has closed an idle connection, with or without a response."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


@contextmanager
def connections(open_one: Callable[[], socket.socket], number: int) -> Iterator[list[socket.socket]]:
    """Open this many connections during the block."""
    opened: list[socket.socket] = []
    try:
        opened.extend(open_one() for _ in range(number))
        yield opened
    finally:
        for connection in opened:
            connection.close()
