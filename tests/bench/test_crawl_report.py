"""Tables of the crawl benchmark, including handlers without finished tasks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
from rich.console import Console

from bench.crawl_cycles import Memory, Part
from bench.crawl_readings import Handler, Reading, read_handlers
from bench.crawl_report import show
from rolecall import App, Client

NOTHING = Reading(
    at=0.0,
    cpu={"workers": 0.0, "Postgres": 0.0, "upstream": 0.0},
    wal=0,
    full_pages=0,
    database=0,
    files=0,
    products=0,
    tables={},
    samples={},
)


def test_handler_without_completed_tasks_has_no_median(database: str, connection: psycopg.Connection[Any]) -> None:
    app = App("crawl")
    fetch = app.task("fetch")(lambda: None)
    with Client(database, app=app) as client:
        client.cancel(client.enqueue(fetch).id)

    handlers = read_handlers(connection, datetime(2000, 1, 1, tzinfo=UTC))

    assert handlers == [Handler(name="fetch", tasks=1, not_completed=1, p50=None, p95=None, seconds=0.0)]


def test_handler_without_a_median_is_reported_with_its_count() -> None:
    console = Console(width=200, record=True)
    never_ran = Handler(name="fetch", tasks=3, not_completed=3, p50=None, p95=None, seconds=0.0)

    show([crawl(never_ran)], console)

    [row] = [line for line in console.export_text().splitlines() if "fetch" in line]
    assert [cell.strip() for cell in row.split("│")] == ["", "fetch", "3", "3", "", "", "0.0", ""]


def crawl(handler: Handler) -> Part:
    end = replace(NOTHING, at=1.0, products=1)
    memory = [Memory(fetched=1, stores=1, workers=(1,))]
    return Part(name="cycle", stores=1, begin=NOTHING, end=end, statements=[], handlers=[handler], memory=memory)
