"""The guide `logging` works as described: every log line of an attempt names its task."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from pathlib import Path

import pytest

from rolecall import Client
from rolecall.testing import drain
from tests.guides.blocks import blocks


async def test_log_lines_of_task_unaware_code_name_the_task(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a coroutine, in a thread and in a process."""
    (tmp_path / "traced_shop.py").write_text(blocks("logging.md", "python")[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(logging, "_logRecordFactory", logging.getLogRecordFactory())
    monkeypatch.setitem(sys.modules, "traced_shop", None)
    monkeypatch.delitem(sys.modules, "traced_shop")
    shop = import_module("traced_shop")

    with Client(database, app=shop.app) as client, caplog.at_level(logging.INFO):
        handlers = (shop.price, shop.count, shop.forecast)
        ids = [client.enqueue(handler, {"shop": 7}).id for handler in handlers]
        await drain(shop.app, database)

    lines = {record.__dict__["trace"] for record in caplog.records if record.name == "shop.prices"}
    assert lines == {f"price-{ids[0]}-1", f"count-{ids[1]}-1", f"forecast-{ids[2]}-1"}
