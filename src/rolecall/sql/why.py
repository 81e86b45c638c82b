"""The typed call for everything that decides whether a task runs."""

from __future__ import annotations

import msgspec

from rolecall.model.operator.why import Situation
from rolecall.sql.statement import Row, Statement

SITUATIONS = msgspec.json.Decoder(Situation)


def situation(task_id: int) -> Statement[Situation | None]:
    """Read a task and everything it depends on, in one snapshot; None if there is no such task."""
    return Statement(query="select rolecall.why(%s::bigint)::text", params=(task_id,), read=_read_situation)


def _read_situation(rows: list[Row]) -> Situation | None:
    [(text,)] = rows
    return None if text is None else SITUATIONS.decode(text)
