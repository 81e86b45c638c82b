"""The places of one server: how many connections it holds, and which of them must give theirs up.

A connection *waits* while nothing of ours works for it: until its request is complete, while its answer is not read,
and between two requests. Where all places are taken, whoever has waited longest gives up his, so that a newcomer who
asks at once is answered however many hold connections open and ask for nothing.
"""

from __future__ import annotations

import logging
import resource
from collections import Counter
from dataclasses import dataclass, replace
from typing import Protocol

__all__ = ["Bounds", "Holder", "Places", "raise_file_limit"]

# Files that are no visitors' connections: those to the database, the log, the program's own.
OWN_FILES = 128
# Ticks from one line of the log to the next one about the same.
QUIET = 10

log = logging.getLogger("rolecall.web")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What visitors may take: `connections` and `backlog` of all of them together, the rest of each connection.

    `head` is a request line with its headers, or what comes with a body and is none of it, in bytes. The seconds are
    those from the accept, or from the last answer, to a complete head; to a complete body; in which an answer that
    is not read stands still; and in which a connection ends that is to be closed.
    """

    connections: int = 1_000
    backlog: int = 1_000
    head: int = 65_536
    headers: int = 200
    pipelined: int = 8
    head_seconds: int = 10
    body_seconds: int = 30
    unread_seconds: int = 60
    end_seconds: int = 10

    def within(self, files: int) -> Bounds:
        """The same, but never more connections than a process that may have so many files open can hold.

        Half of them are for connections that are accepted at once, before the first of them is looked at.
        """
        most = max(1, (files - OWN_FILES) // 2)
        return replace(self, connections=min(self.connections, most), backlog=min(self.backlog, most))


class Holder(Protocol):
    """Who holds a place: a connection."""

    def is_overdue(self) -> bool:
        """Count a second; say whether what is waited for has taken too many by now."""

    def cut(self) -> None:
        """Close the connection, whatever it has not read or sent yet."""


class Places:
    """Gives places and takes them back; says in the log how many it took back, and why."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._holders: set[Holder] = set()
        self._waiting: dict[Holder, None] = {}  # who has waited longest comes first
        self._refused: Counter[str] = Counter()
        self._quiet = 0

    def take(self, holder: Holder) -> None:
        """Give a newcomer a place; where there is none, that of who has waited longest, which may be himself."""
        self._holders.add(holder)
        self.wait(holder)
        if len(self._holders) > self.bounds.connections:
            self._end(next(iter(self._waiting)), "crowded out")

    def wait(self, holder: Holder) -> None:
        """Note that from now on nothing of ours works for this one."""
        self._waiting.pop(holder, None)
        if holder in self._holders:
            self._waiting[holder] = None

    def work(self, holder: Holder) -> None:
        """Note that from now on something of ours works for this one."""
        self._waiting.pop(holder, None)

    def leave(self, holder: Holder) -> None:
        """Take a place back."""
        self._holders.discard(holder)
        self._waiting.pop(holder, None)

    def note(self, why: str) -> None:
        """Note that somebody was refused."""
        self._refused[why] += 1

    def tick(self) -> None:
        """Once a second: end those who are overdue, and tell of those who were refused.

        Seconds are counted, not measured: where this process itself stood still, nobody is late for it.
        """
        for holder in [holder for holder in self._holders if holder.is_overdue()]:
            self._end(holder, "too slow")
        self._quiet -= 1
        if self._refused and self._quiet <= 0:
            told = ", ".join(f"{number} {why}" for why, number in sorted(self._refused.items()))
            most = self.bounds.connections
            log.warning("Connections were refused: %s; %d of %d are open", told, len(self._holders), most)
            self._refused.clear()
            self._quiet = QUIET

    def _end(self, holder: Holder, why: str) -> None:
        self.leave(holder)
        self.note(why)
        holder.cut()


def raise_file_limit() -> int:
    """Let this process have as many files open as it may ask for; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return soft  # a kernel may refuse what it says
    return hard
