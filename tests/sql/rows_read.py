"""The number of rows that a call's plans process; buffers do not show comparisons of arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg.errors import Diagnostic

from tests.sql.engine import Engine

SETTINGS = {
    "log_min_duration": 0,
    "log_nested_statements": "on",
    "log_analyze": "on",
    "log_timing": "off",
    "log_format": "json",
}


def rows_read(engine: Engine, query: str, *parameters: object) -> int:
    """Return the rows of all plan nodes of a call, including those that were filtered out."""
    with _plans(engine) as plans:
        engine.rows(query, *parameters)
    return sum(_rows(plan["Plan"]) for plan in plans)


@contextmanager
def _plans(engine: Engine) -> Iterator[list[dict[str, Any]]]:
    plans: list[dict[str, Any]] = []

    def hear(notice: Diagnostic) -> None:
        _, found, plan = (notice.message_primary or "").partition("plan:\n")
        if found:
            plans.append(json.loads(plan))

    engine.rows("load 'auto_explain'")
    engine.connection.add_notice_handler(hear)
    try:
        for name, value in {**SETTINGS, "log_level": "notice"}.items():
            engine.rows(f"set auto_explain.{name} = '{value}'")
        yield plans
    finally:
        engine.rows("set auto_explain.log_min_duration = -1")
        engine.connection.remove_notice_handler(hear)


def _rows(node: dict[str, Any]) -> int:
    kept = node.get("Actual Rows", 0)
    dropped = sum(number for word, number in node.items() if word.startswith("Rows Removed by"))
    return int((kept + dropped) * node.get("Actual Loops", 0)) + sum(map(_rows, node.get("Plans", [])))
