"""A storage that is away spends no attempt, and nothing is fetched that could not be kept."""

from __future__ import annotations

from typing import Any

from storecrawl.demo.upstream import LocalUpstream

from rolecall import NewTask
from rolecall.testing import working

FETCH = NewTask(handler="payload_fetch", payload={"store_id": 1}, key="store:1")
OF_FETCH = "from rolecall.all_tasks where handler = 'payload_fetch' order by id desc limit 1"


async def test_fetch_waits_for_the_storage_and_asks_the_upstream_nothing(crawled: Any, upstream: LocalUpstream) -> None:
    folder = crawled.settings.data_dir / "payloads"
    folder.rename(aside := folder.with_name("aside"))
    folder.write_bytes(b"")
    crawled.enqueue(FETCH)

    async with working(crawled.app, crawled.database):
        await crawled.until(
            lambda: crawled.value(f"select info ->> 'held_back' is not null and state = 'pending' {OF_FETCH}")
        )
        waiting = crawled.rows(f"select state::text, attempt, error, info ->> 'held_back' {OF_FETCH}")
        requests = upstream.stats()["requests"]
        folder.unlink()
        aside.rename(folder)
        crawled.rows("update rolecall.tasks set scheduled_for = now() where state = 'pending' returning id")
        await crawled.until(lambda: crawled.value(f"select state = 'completed' {OF_FETCH}"))

    because = f"the storage is away: {folder} is not a folder in which this user may write"
    assert waiting == [("pending", 0, None, because)]
    assert requests == 0
    assert crawled.value(f"select attempt {OF_FETCH}") == 1
