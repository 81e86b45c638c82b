"""Errors about what a list, or an action on many tasks, is asked for."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


class FilterError(RolecallError):
    """Something about a filter, or about the way through what it finds."""


class InvalidCursor(FilterError):
    """The cursor is none that a page of this list named as the next one's."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"{cursor!r} is not the cursor of a page")
        self.cursor = cursor


class NoFilter(FilterError):
    """An action on many tasks says nothing about which ones: everything is never meant."""

    def __init__(self, problem: str = "say which tasks are meant: at least one filter is needed") -> None:
        super().__init__(problem)
