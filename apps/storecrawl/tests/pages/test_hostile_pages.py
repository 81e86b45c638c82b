"""Text from stores is escaped on every page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from tests.web.matrix import PARAMETER, read_table

from .hostile import CORPUS, MARKUP

OpenShop = Callable[[], Awaitable[list[str]]]
PAGES = [entry.path for entry in read_table(Path(__file__).with_name("routes.txt")) if entry.method == "GET"]


async def test_markup_in_names_and_payloads_is_escaped_on_every_page(
    http: httpx2.AsyncClient, open_hostile_shop: OpenShop
) -> None:
    paths = await open_hostile_shop()

    for path in paths:
        page = (await http.get(path)).text
        assert "onerror=" in page, path
        assert [markup for markup in MARKUP if markup in page] == [], path
        assert "49" not in page.split("window.hacked")[1], path
    assert {PARAMETER.sub("#", path) for path in PAGES} <= {_shape(path) for path in paths}


async def test_request_parameters_are_escaped(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()

    for path in ("/stores", f"/stores/{store}", "/products"):
        page = (await http.get(f"{path}?text={quote(CORPUS)}")).text
        assert "onerror=" in page, path
        assert [markup for markup in MARKUP if markup in page] == [], path


def _shape(path: str) -> str:
    return "/".join("#" if part.isdigit() else part for part in path.partition("?")[0].split("/"))
