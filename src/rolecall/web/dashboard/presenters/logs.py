"""The log of a task for people: its lines with their levels, and marks where lines are missing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.model.operator.logs import LogLine

TONES = ((logging.ERROR, "bad"), (logging.WARNING, "warn"), (logging.INFO, "info"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """A line, the name and tone of its level, and how many lines are missing before it."""

    line: LogLine
    level: str
    tone: str
    missing: int


def shown_lines(lines: Sequence[LogLine]) -> list[ShownLine]:
    """Return the lines for display, in the same order."""
    predecessors: list[LogLine | None] = [None, *lines]
    return [_shown(line, before) for before, line in zip(predecessors, lines, strict=False)]


def _shown(line: LogLine, before: LogLine | None) -> ShownLine:
    missing = line.number - before.number - 1 if before is not None and before.fence == line.fence else 0
    tone = next((tone for level, tone in TONES if line.level >= level), "muted")
    return ShownLine(line=line, level=logging.getLevelName(line.level).lower(), tone=tone, missing=missing)
