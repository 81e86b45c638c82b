"""Whether a menu's size can be true, seen beside its own claim and the store's last one."""

from __future__ import annotations

from dataclasses import dataclass

from storecrawl.catalog.errors import ImplausibleMenu
from storecrawl.catalog.normalize import Menu


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausibility:
    """The rule: a menu of less than `smallest_share` of what was expected is taken for a cut feed.

    Menus that were smaller than `smallest_menu` before are not judged. A store that really shrank is
    believed once `confirmations` fetches since its last accepted menu were as small, this one not counted.
    """

    smallest_share: float = 0.5
    smallest_menu: int = 20
    confirmations: int = 2

    def __post_init__(self) -> None:
        if not 0 <= self.smallest_share <= 1:
            raise ValueError("smallest_share is a share: from 0 to 1")

    def check_claim(self, menu: Menu) -> None:
        """Raise ImplausibleMenu when the document is a page: far less than it says that the menu has."""
        if menu.total_count is not None and self._too_few(menu.record_count, menu.total_count):
            raise ImplausibleMenu(menu.record_count, menu.total_count, "the document itself claims")

    def check_history(self, menu: Menu, last_count: int | None, as_small: int) -> None:
        """Raise ImplausibleMenu when the store had far more before and no other fetch since confirms it."""
        count = len(menu.products)
        if last_count is None or as_small >= self.confirmations:
            return
        if self._too_few(count, last_count):
            raise ImplausibleMenu(count, last_count, "the store's last menu had")

    def _too_few(self, count: int, expected: int) -> bool:
        return expected >= self.smallest_menu and count < expected * self.smallest_share
