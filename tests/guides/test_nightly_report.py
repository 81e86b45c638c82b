"""The guide `nightly-report` works as described."""

from __future__ import annotations

from rolecall import Client
from rolecall.testing import drain
from tests.guides.reading import module_of


async def test_report_contains_every_store_and_names_missing_data(database: str) -> None:
    shop = module_of("nightly-report")
    with Client(database, app=shop.app) as client:
        report = client.enqueue(shop.nightly_report, {"day": "monday"})
        await drain(shop.app, database)
        task = client.get(report.id)

    assert task.result == {
        "day": "monday",
        "total": 2500,
        "stores": {"north": 2000, "south": 500, "east": 0},
        "missing": ["closed"],
    }
    assert task.info == {"receipts": 3}
