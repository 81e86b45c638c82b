"""Keeps a process that a handler forks out of the worker, should it come back into it.

    handler ──fork──▶ child: exec, or `os._exit` at its end     nothing of the worker's is touched
                      child: returns, raises, awaits            leaves where the worker's own code goes on

Such a child has a copy of everything: it would settle the worker's tasks a second time, over sockets that both share.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import Protocol
from weakref import WeakSet, ref

import psycopg

SAID = b"A handler forked, and the child came back into the worker: it ends here. Let it end with os._exit().\n"
EXIT_CODE = 70


class HasDescriptor(Protocol):
    """A connection."""

    def fileno(self) -> int: ...


class Home:
    """The process in which a worker was made.

    In a child the worker's connections lead nowhere from the start: what awaits there reads no answer that is the
    worker's, and what is collected there says goodbye to no server. A child that uses none of them notices nothing.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._connections: WeakSet[HasDescriptor] = WeakSet()
        os.register_at_fork(after_in_child=partial(_cut_off, ref(self)))

    def add(self, connection: HasDescriptor) -> None:
        """Take a connection into account that is the worker's alone."""
        self._connections.add(connection)

    def require(self) -> None:
        """End this process at once, without touching anything, if it is another one."""
        if os.getpid() != self._pid:
            os.write(2, SAID)
            os._exit(EXIT_CODE)

    def cut_off(self) -> None:
        """Let every connection lead nowhere in this process; in the one that it comes from it goes on as before."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for connection in self._connections:
            with suppress(psycopg.Error):  # one that is closed
                os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)


def _cut_off(home: ref[Home]) -> None:
    # What is registered for forks stays registered; a worker that has ended is not to be kept by that.
    alive = home()
    if alive is not None:
        alive.cut_off()
