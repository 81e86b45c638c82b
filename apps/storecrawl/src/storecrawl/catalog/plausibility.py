"""The rule that a menu which lost most of its products, or of the values of a field, is probably not true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storecrawl.catalog.errors import ImplausibleMenu, LostValues
from storecrawl.catalog.normalize import KnownValues, Menu

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuHistory:
    """A payload's position in its store's history, and whether the store is dark.

    `last_count` and `last_shares` describe the last payload applied before it, and are None if there is none.
    Of the fetches between the two, `as_small` had too few products, and `later_shares` are those of the read ones.
    """

    applied: bool
    is_newest: bool
    is_dark: bool
    newer: int
    last_count: int | None
    last_shares: Shares | None
    as_small: int
    later_shares: Sequence[Shares]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausibility:
    """The rule for menus with less than `smallest_share` of the expected products, or of a field's known values.

    Stores with fewer than `smallest_menu` expected products, and fields with fewer expected values, are not
    checked. A menu is accepted nevertheless if `confirmations` other fetches since the last accepted one lost as
    much.
    """

    smallest_share: float = 0.5
    smallest_menu: int = 20
    confirmations: int = 2

    def __post_init__(self) -> None:
        if not 0 <= self.smallest_share <= 1:
            raise ValueError("smallest_share must be between 0 and 1")

    def check_claim(self, menu: Menu) -> None:
        """Raise ImplausibleMenu if the document has far fewer products than it claims for the menu."""
        if menu.total_count is not None and self._too_few(menu.record_count, menu.total_count):
            raise ImplausibleMenu(menu.record_count, menu.total_count, "the document claims")

    def check_history(self, menu: Menu, known: Mapping[str, KnownValues], history: MenuHistory) -> None:
        """Compare a menu with the store's last one.

        Raises ImplausibleMenu or LostValues if that one had far more and too few other fetches confirm the decrease.
        """
        count = len(menu.products)
        if history.last_count is None:
            return
        if self._too_few(count, history.last_count) and history.as_small < self.confirmations:
            raise ImplausibleMenu(count, history.last_count, "the store's last menu had")
        lost = {
            field: (known[field], last)
            for field, last in (history.last_shares or {}).items()
            if field in known and self._is_lost(field, known[field], last, history.later_shares)
        }
        if lost:
            raise LostValues(lost)

    def _is_lost(self, field: str, now: KnownValues, last: float, later: Sequence[Shares]) -> bool:
        if not self._too_few(now.known, last * now.possible):
            return False
        confirming = sum(shares[field] < last * self.smallest_share for shares in later if field in shares)
        return confirming < self.confirmations

    def _too_few(self, count: int, expected: float) -> bool:
        return expected >= self.smallest_menu and count < expected * self.smallest_share
