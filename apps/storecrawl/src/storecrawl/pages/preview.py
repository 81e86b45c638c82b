"""The beginning of a JSON document, one thing a line, whatever stands where it was cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["indented"]

# A text is one piece, also one that was cut; what is between the pieces is white space, of which nothing is kept.
PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
STEP: Final = "  "


def indented(text: str) -> str:
    """Indent it; what is no JSON comes out as it can."""
    return "".join(_pieces(text)).strip("\n")


def _pieces(text: str) -> Iterator[str]:
    depth, before = 0, ""
    for piece in PIECES.findall(text):
        if piece in "}]":
            depth = max(depth - 1, 0)
        if _needs_line(before, piece):
            yield "\n" + STEP * depth
        yield ": " if piece == ":" else piece
        depth += piece in "{["
        before = piece


def _needs_line(before: str, piece: str) -> bool:
    if piece in "}]":
        return before not in "{[" or not before
    return before in {"{", "[", ","}
