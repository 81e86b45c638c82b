"""The text of an error for people: the frames of libraries apart from the rest, so that a page can fold them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby

__all__ = ["error_blocks"]

FRAME = re.compile(r'\s*(?:[|+-]\s*)*File "([^"]*)", line ')
LIBRARY = re.compile(r"-packages/|/lib/python|^<", re.IGNORECASE)
CODE = re.compile(r"\s*(?:\|\s*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBlock:
    """Lines of an error: frames of libraries, or anything else. `frames` is their number, 0 for anything else."""

    text: str
    frames: int


def error_blocks(text: str) -> list[ErrorBlock]:
    """Split the text of an error into blocks, in order."""
    marked: list[tuple[bool, str]] = []
    indent: int | None = None
    for line in text.strip().splitlines():
        found = FRAME.match(line)
        if found is not None:
            path = found[1].replace("\\", "/")
            indent = line.index("File ") if LIBRARY.search(path) else None
        elif indent is not None and _depth(line) <= indent:
            indent = None
        marked.append((indent is not None, line))
    return [
        _block([line for _, line in lines], is_library) for is_library, lines in groupby(marked, lambda each: each[0])
    ]


def _block(lines: list[str], is_library: bool) -> ErrorBlock:  # noqa: FBT001 - the key of the group
    frames = sum(FRAME.match(line) is not None for line in lines) if is_library else 0
    return ErrorBlock(text="\n".join(lines), frames=frames)


def _depth(line: str) -> int:
    found = CODE.match(line)
    return found.end() if found else 0
