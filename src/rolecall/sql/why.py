"""The typed call that gathers what decides whether a task runs."""

from __future__ import annotations

import msgspec

from rolecall.model.why import Situation
from rolecall.sql.statement import Row, Statement

__all__ = ["situation"]


def situation(task_id: int) -> Statement[Situation | None]:
    """Ask for a task with all that it depends on, in one snapshot; None where there is no such task."""
    return Statement(query="select rolecall.why(%s::bigint)::text", params=(task_id,), read=_read)


def _read(rows: list[Row]) -> Situation | None:
    [(text,)] = rows
    return None if text is None else msgspec.json.decode(text, type=Situation)
