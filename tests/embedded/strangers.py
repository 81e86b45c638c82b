"""A program that listens on the port of Postgres and requests the password in clear text."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

ASKS_FOR_CLEARTEXT = b"R" + (8).to_bytes(4) + (3).to_bytes(4)
PATIENCE = 10.0


class Stranger:
    """A fake server. `messages` has one entry for each message from a client."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._answer)
        self.port = int(self._listener.getsockname()[1])
        self.messages: list[bytes] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _answer(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(PATIENCE)
                self._hear(client)
                client.sendall(ASKS_FOR_CLEARTEXT)
                self._hear(client)

    def _hear(self, client: socket.socket) -> None:
        if result := client.recv(4096):
            self.messages.append(result)
