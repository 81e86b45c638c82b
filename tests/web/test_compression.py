"""Responses are compressed, except for streams of events, and an unchanged page is not sent again."""

from __future__ import annotations

from gzip import decompress

import httpx2
import pytest

from rolecall import App
from rolecall.web.dashboard.assets import asset_address
from tests.web.doors import unguarded
from tests.web.streaming import served

GZIP = {"accept-encoding": "gzip"}
PLAIN = {"accept-encoding": "identity"}


@pytest.mark.parametrize("path", ["/tasks", "/openapi.json", asset_address("style.css")])
async def test_response_is_compressed_for_clients_that_accept_it(http: httpx2.AsyncClient, path: str) -> None:
    async with http.stream("GET", path, headers=GZIP) as answer:
        sent = b"".join([chunk async for chunk in answer.aiter_raw()])
    plain = await http.get(path, headers=PLAIN)

    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert "content-encoding" not in plain.headers
    assert len(sent) < len(plain.content) / 2
    assert len(decompress(sent)) == pytest.approx(len(plain.content), rel=0.1)


async def test_stream_of_events_is_not_compressed(database: str, app: App) -> None:
    async with served(unguarded(database, app)) as site, site.events(**GZIP) as events:
        first = await events.next()

    assert first.name == "connected"
    assert "content-encoding" not in events.response.headers


async def test_unchanged_page_is_not_sent_again(http: httpx2.AsyncClient) -> None:
    etag = (await http.get("/roles")).headers["etag"]

    again = await http.get("/roles", headers={"if-none-match": etag})

    assert (again.status_code, again.content, again.headers["cache-control"]) == (304, b"", "no-store")


async def test_changed_page_is_sent_again(http: httpx2.AsyncClient) -> None:
    etag = (await http.get("/roles")).headers["etag"]
    await http.post("/api/roles/sums/pause", json={})

    again = await http.get("/roles", headers={"if-none-match": etag})

    assert (again.status_code, again.headers["etag"] != etag) == (200, True)
