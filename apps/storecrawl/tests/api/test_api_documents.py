"""Documents of crawl payloads over HTTP, intact, damaged and missing."""

from __future__ import annotations

import asyncio
import os
import socket
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
import uvicorn
import zstandard
from storecrawl.api.documents import coding_for

from apps.storecrawl.tests.menu_samples import Sample, samples
from rolecall import App
from tests.web.doors import unguarded

GZIP = 16 + zlib.MAX_WBITS
MEBIBYTE = 1024**2


@pytest.fixture
async def server(database: str, app: App) -> AsyncIterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(unguarded(database, app), log_level="warning"))
    serving = asyncio.create_task(running.serve(sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    await serving


@pytest.mark.parametrize("sample", samples("graphql"), ids=str)
async def test_menu_is_returned_byte_for_byte(http: httpx2.AsyncClient, shop: Any, sample: Sample) -> None:
    menu = sample.read()
    payload = shop.payload(shop.store(), menu)

    plain = await http.get(f"/api/payloads/{payload}/data", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert (plain.content, plain.headers["content-length"]) == (menu, str(len(menu)))
    unpackers: dict[str, Any] = {"zstd": zstandard.ZstdDecompressor().decompressobj(), "gzip": zlib.decompressobj(GZIP)}
    for coding, unpacker in unpackers.items():
        wanted = {"Accept-Encoding": f"br, {coding}"}
        async with http.stream("GET", f"/api/payloads/{payload}/data", headers=wanted) as answer:
            packed = b"".join([piece async for piece in answer.aiter_raw()])
        assert (unpacker.decompress(packed), answer.headers["content-encoding"]) == (menu, coding)


async def test_document_is_a_json_download(http: httpx2.AsyncClient, shop: Any) -> None:
    payload = shop.payload(shop.store(), {})

    headers = (await http.get(f"/api/payloads/{payload}/data")).headers

    assert headers["content-type"] == "application/json"
    assert headers["content-disposition"] == f'attachment; filename="payload-{payload}.json"'
    assert (headers["x-content-type-options"], headers["vary"]) == ("nosniff", "Accept-Encoding")


async def test_damaged_file_returns_a_problem_document_for_every_encoding(
    http: httpx2.AsyncClient, shop: Any, tmp_path: Path
) -> None:
    store = shop.store()
    damages: dict[str, tuple[int, int]] = {}
    for hour, (kind, status, damage) in enumerate(DAMAGES):
        payload = shop.payload(store, {"a": list(range(1_000))}, hour=hour)
        damage(shop.file_of(payload), tmp_path)
        damages[f"{kind} {damage.__name__}"] = (payload, status)

    for name, (payload, status) in damages.items():
        for coding in ("zstd", "gzip", "identity"):
            answer = await http.get(f"/api/payloads/{payload}/data", headers={"Accept-Encoding": coding})
            assert (answer.status_code, answer.json()["type"]) == (status, f"urn:rolecall:{name.split()[0]}"), name
            assert answer.json()["detail"].startswith(f"crawl payload {payload}: ")
            assert "store_" not in answer.text


async def test_bomb_is_rejected_and_never_decompressed(http: httpx2.AsyncClient, shop: Any) -> None:
    bomb = bytes(30 * MEBIBYTE)
    payload = shop.payload(shop.store(), bomb)
    before = psutil.Process().memory_info().rss

    answer = await http.get(f"/api/payloads/{payload}/data", headers={"Accept-Encoding": "identity"})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:rolecall:payload-bomb")
    assert psutil.Process().memory_info().rss - before < 20 * MEBIBYTE


async def test_document_too_large_to_parse_is_still_returned(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    large = b'{"a": "' + os.urandom(17 * MEBIBYTE).hex().encode() + b'"}'
    payload = shop.payload(store, large)

    shop.payload(store, b"{}", hour=1)

    data = await http.get(f"/api/payloads/{payload}/data")
    diff = await http.get(f"/api/payloads/store/{store}/diff")

    assert data.content == large
    assert (diff.status_code, diff.json()["type"]) == (409, "urn:rolecall:payload-too-large")


async def test_disconnecting_client_releases_its_file_and_connection(server: str, shop: Any) -> None:
    payload = shop.payload(shop.store(), os.urandom(8 * MEBIBYTE).hex().encode())
    file = str(shop.file_of(payload))

    async with httpx2.AsyncClient(base_url=server) as client, asyncio.timeout(30):
        async with client.stream("GET", f"/api/payloads/{payload}/data", headers={"Accept-Encoding": "identity"}):
            assert file in _open_files()
            for _ in range(20):
                assert (await client.get(f"/api/payloads/{payload}")).status_code == 200
        while file in _open_files():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", "gzip"), ("GZIP;q=0.1", "gzip"), ("br, gzip;q=0.5", "gzip"), ("zstd;q=0.1", "zstd"),
        ("gzip, zstd", "zstd"), ("gzip, zstd;q=0.5", "gzip"), ("*", "zstd"), ("zstd;q=0, *;q=0.1", "gzip"),
        ("", None), ("identity", None), ("gzip;q=0", None), ("gzip;q=x", None), ("*;q=0", None),
    ],
)  # fmt: skip
def test_coding_is_sent_only_to_clients_that_accept_it(header: str, accepted: str | None) -> None:
    assert coding_for(header) == accepted


def _open_files() -> set[str]:
    return {opened.path for opened in psutil.Process().open_files()}


def _delete(file: Path, _outside: Path) -> None:
    file.unlink()


def _cut(file: Path, _outside: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _write_plain(file: Path, _outside: Path) -> None:
    file.write_bytes(b"plain")


def _another_document(file: Path, _outside: Path) -> None:
    file.write_bytes(zstandard.compress(zstandard.decompress(file.read_bytes()).replace(b"9", b"8")))


def _empty(file: Path, _outside: Path) -> None:
    file.write_bytes(b"")


def _link_to_outside(file: Path, outside: Path) -> None:
    secret = outside / "secret.zst"
    secret.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(secret)


def _folder(file: Path, _outside: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: list[tuple[str, int, Callable[[Path, Path], None]]] = [
    ("payload-missing", 410, _delete),
    ("payload-corrupt", 409, _cut),
    ("payload-corrupt", 409, _write_plain),
    ("payload-corrupt", 409, _another_document),
    ("payload-corrupt", 409, _empty),
    ("payload-corrupt", 409, _folder),
    ("payload-outside-root", 409, _link_to_outside),
]
