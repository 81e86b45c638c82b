"""What normalizing can refuse: a whole document, or one product of it."""

from __future__ import annotations


class NotAMenu(ValueError):
    """The document is no menu that we understand; `reason` names what was seen instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unusable(ValueError):
    """One product or option cannot be normalized; the normalizer records it and goes on."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
