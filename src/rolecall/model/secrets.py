"""A text that is shown once, to whom it is for, and to no log."""

from __future__ import annotations

__all__ = ["Secret"]


class Secret:
    """Holds a text and does not show it by accident: neither its str nor its repr tells it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "(secret)"

    def reveal(self) -> str:
        """The text itself."""
        return self._text
