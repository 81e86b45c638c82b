"""orphan_sweep deletes orphaned files, and nothing if the database does not know most of the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from storecrawl.roles.crawler import payload_store

from rolecall import NewTask

SWEPT = "select state::text, (result ->> 'removed')::int, error from rolecall.all_tasks where handler = 'orphan_sweep'"
FEW, MANY = 3, 21


@pytest.fixture
def crawl(crawl_with: Callable[..., Any]) -> Any:
    return crawl_with(orphan_age=0.000_001)


def leave_files(crawl: Any, number: int) -> None:
    store = payload_store(crawl.settings)
    for task_id in range(number):
        store.write(1, str(task_id).encode(), task_id=task_id, attempt=1)


def files_in(crawl: Any) -> int:
    return sum(path.is_file() for path in crawl.settings.data_dir.rglob("*.zst"))


async def test_few_files_without_a_row_are_removed(crawl: Any) -> None:
    leave_files(crawl, FEW)

    await crawl.run(NewTask(handler="orphan_sweep"))

    assert crawl.rows(SWEPT) == [("completed", FEW, None)]
    assert files_in(crawl) == 0


async def test_folder_that_seems_to_belong_to_another_database_is_untouched(crawl: Any) -> None:
    leave_files(crawl, MANY)

    await crawl.run(NewTask(handler="orphan_sweep"))

    [(state, _, error)] = crawl.rows(SWEPT)
    assert state == "failed"
    assert f"{MANY} of {MANY} files have no row in this database" in error
    assert files_in(crawl) == MANY


async def test_majority_of_files_can_be_removed_on_explicit_request(crawl: Any) -> None:
    leave_files(crawl, MANY)

    await crawl.run(NewTask(handler="orphan_sweep", payload={"even_most": True}))

    assert crawl.rows(SWEPT) == [("completed", MANY, None)]
    assert files_in(crawl) == 0
