"""The result of comparing stored rows with payload files, for a store or more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from storecrawl.catalog.normalize import Menu, NotAMenu
from storecrawl.catalog.payloads import StoredPayload
from storecrawl.catalog.stored_rows import Differences
from storecrawl.payloads import PayloadError, PayloadExpired

ReadMenu = Callable[[StoredPayload], Awaitable[Menu]]

NAMED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPayload:
    """A payload that could not be read, and why."""

    payload_id: int
    store_id: int
    reason: str


@dataclass(slots=True, kw_only=True)
class Comparison:
    """The payloads of some stores that were read, and the differences.

    The files of `expired` payloads were removed by the retention policy; `unreadable` ones are missing, damaged, or no
    menu. `unread` names the first of both.
    """

    stores: int = 0
    payloads: int = 0
    expired: int = 0
    unreadable: int = 0
    unread: list[UnreadPayload] = field(default_factory=list)
    differences: Differences = field(default_factory=Differences)

    @property
    def has_problems(self) -> bool:
        """Whether values differ or payloads are unreadable. An expired file is no problem."""
        return self.differences.count > 0 or self.unreadable > 0

    def skip(self, payload: StoredPayload, problem: PayloadError | NotAMenu) -> None:
        """Count a payload that cannot be read."""
        if isinstance(problem, PayloadExpired):
            self.expired += 1
        else:
            self.unreadable += 1
        self._name([UnreadPayload(payload_id=payload.id, store_id=payload.store_id, reason=str(problem))])

    def add(self, found: Comparison) -> None:
        """Add the result of other stores."""
        self.stores += found.stores
        self.payloads += found.payloads
        self.expired += found.expired
        self.unreadable += found.unreadable
        self._name(found.unread)
        self.differences.add(found.differences)

    def _name(self, unread: list[UnreadPayload]) -> None:
        self.unread = [*self.unread, *unread][:NAMED]
