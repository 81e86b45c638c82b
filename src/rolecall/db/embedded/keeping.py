"""Bringing the server back while somebody is attached: it is nobody's child, so nobody else would notice its end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rolecall.db.embedded.errors import EmbeddedServerError
from rolecall.db.embedded.server import EmbeddedServer

LOOK_SECONDS = 1.0
RETRY_SECONDS = 5.0

log = logging.getLogger("rolecall.embedded")


@contextmanager
def kept_running(server: EmbeddedServer) -> Iterator[None]:
    """Revive the attached server whenever it has ended, for the length of the block, in a thread of its own.

    The server belongs to that thread meanwhile. Every attached process may do this: one of them starts the server, the
    others join it. Leaving waits for a start that is under way.
    """
    ended = threading.Event()
    keeper = threading.Thread(target=_keep, args=(server, ended), name="rolecall-embedded", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _keep(server: EmbeddedServer, ended: threading.Event) -> None:
    pause = LOOK_SECONDS
    while not ended.wait(pause):
        pause = LOOK_SECONDS if _runs(server) or _revive(server) else RETRY_SECONDS


def _runs(server: EmbeddedServer) -> bool:
    try:
        return server.pid is not None
    except OSError:
        return True  # its folder has been taken away: an empty one in its place would be no help


def _revive(server: EmbeddedServer) -> bool:
    log.warning("The embedded Postgres has ended; starting it again")
    try:
        server.attach()
    except EmbeddedServerError as error:
        log.warning("The embedded Postgres does not come back; trying again in %g s: %s", RETRY_SECONDS, error)
        return False
    log.info("The embedded Postgres is back")
    return True
