"""Texts that must fit into a picture: the server cannot measure them, so it counts letters of a fixed-width font."""

from __future__ import annotations

__all__ = ["fitted"]

ELLIPSIS = "…"


def fitted(text: str, room: int) -> str:
    """The text, or as many letters of its beginning as fit, with an ellipsis that says so."""
    return text if len(text) <= room else text[: room - len(ELLIPSIS)].rstrip() + ELLIPSIS
