"""A fetch with the same responses as the previous one stores them and reuses its document, without parsing either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from storecrawl.demo.upstream import LocalUpstream
from storecrawl.platforms.dutchie import client, menu_of
from storecrawl.platforms.raw_pages import read_raw_pages
from storecrawl.roles import stored_menus

from apps.storecrawl.tests.payload_files import document_of
from rolecall import NewTask

from .conftest import Crawl

DISCOVER = NewTask(handler="store_discovery")
FETCH_ALL = [NewTask(handler="payload_fetch", payload={"store_id": store}) for store in range(1, 6)]
KEPT = (
    "select payload.store_id, platform_store_id, payload.storage_path, raw.storage_path, product_count, payload.size_raw"
    " from storecrawl.payloads as payload join storecrawl.raw_menus as raw on raw.payload_id = payload.id"
    " join storecrawl.stores on stores.id = payload.store_id order by payload.id"
)


@pytest.fixture
def looked_into(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []

    def note(where: Any, name: str) -> None:
        real = getattr(where, name)

        def record_call(*args: Any, **kwargs: Any) -> Any:
            done.append(name)
            return real(*args, **kwargs)

        monkeypatch.setattr(where, name, record_call)

    note(client, "page_in")
    note(client, "menu_of")
    note(stored_menus, "packed_menu")
    return done


async def test_cycle_without_changes_parses_and_normalizes_nothing(crawl: Crawl, looked_into: list[str]) -> None:
    """A new upstream would first ask for the full query, so that its response is read."""
    await crawl.run(DISCOVER)
    looked_into.clear()

    await crawl.run(*FETCH_ALL)

    assert (crawl.states(), looked_into) == ({"completed"}, [])
    assert crawl.rows("select count(*) from storecrawl.payloads where repeats is not null") == [(5,)]


async def test_unchanged_menu_writes_no_file(crawled: Crawl) -> None:
    """A new upstream first asks for the full query, and the files of that fetch contain its request."""
    await crawled.run(FETCH_ALL[0])
    await crawled.run(*FETCH_ALL)
    before = stored_files(crawled)

    await crawled.run(*FETCH_ALL)

    assert stored_files(crawled) == before
    assert len(crawled.rows(KEPT)) == 16
    assert list(find_differences(crawled)) == []


async def test_changed_menu_is_stored_as_a_small_difference(crawled: Crawl, upstream: LocalUpstream) -> None:
    before = stored_files(crawled)
    upstream.advance()

    await crawled.run(*FETCH_ALL)

    written = {path: size for path, size in stored_files(crawled).items() if path not in before}
    assert 0 < sum(written.values()) < 0.2 * sum(before.values())
    assert list(find_differences(crawled)) == []


async def test_changed_menu_is_read(crawled: Crawl, upstream: LocalUpstream, looked_into: list[str]) -> None:
    upstream.advance()

    await crawled.run(*FETCH_ALL)

    assert crawled.states() == {"completed"}
    assert {"page_in", "packed_menu"} <= set(looked_into)
    assert list(find_differences(crawled)) == []


@pytest.mark.parametrize("damage", ["gone", "damaged"])
async def test_document_that_cannot_be_copied_is_rebuilt_from_the_raw_responses(crawled: Crawl, damage: str) -> None:
    before = documents(crawled)
    root = crawled.settings.data_dir / "payloads"
    for _, _, path, *_ in crawled.rows(KEPT):
        (root / path).unlink()
        if damage == "damaged":
            (root / path).write_bytes(b"damaged")

    await crawled.run(*FETCH_ALL)

    assert crawled.states() == {"completed"}
    assert documents(crawled, first=5) == before


def stored_files(crawl: Crawl) -> dict[str, int]:
    root = crawl.settings.data_dir / "payloads"
    return {str(path): path.stat().st_size for path in root.rglob("store_*/*") if path.is_file()}


def documents(crawl: Crawl, first: int = 0) -> list[bytes]:
    root = crawl.settings.data_dir / "payloads"
    rows = sorted(crawl.rows(KEPT)[first:], key=lambda row: row[0])
    return [document_of(root, path) for _, _, path, *_ in rows]


def find_differences(crawl: Crawl) -> Iterator[str]:
    """Return payloads whose document, size or product count does not match their responses."""
    root = crawl.settings.data_dir / "payloads"
    for _, platform_id, path, raw_path, count, size in crawl.rows(KEPT):
        answers = read_raw_pages([document_of(root, raw_path)])
        menu = menu_of(platform_id, 100, answers)
        document = document_of(root, path)
        if (msgspec.json.encode(menu.document()), len(menu.products), len(document)) != (document, count, size):
            yield path
