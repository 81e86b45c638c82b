"""Errors are pages for browsers and problem documents for programs."""

from __future__ import annotations

import logging
import re

import httpx2
import pytest

from rolecall.model.operator.access import Scope
from rolecall.service.workers import Workers
from tests.sql.engine import Engine
from tests.web.doors import Door, opened

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_unknown_url_shows_a_page_with_links(pool: Engine, http: httpx2.AsyncClient) -> None:
    answer = await http.get("/no-such-page", headers=BROWSER)

    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no page at this address." in answer.text
    assert 'href="/tasks"' in answer.text


async def test_unknown_url_shows_no_links_to_an_anonymous_visitor(door: Door) -> None:
    answer = await door.client.get("/no-such-page", headers=BROWSER)

    assert answer.status_code == 404
    assert 'href="/tasks"' not in answer.text


async def test_unsupported_method_shows_a_page(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/admin/workers/replicas", headers=BROWSER)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "only accepts forms" in answer.text


@pytest.mark.parametrize(("path", "headers"), [("/api/nothing", BROWSER), ("/nothing", {"accept": "*/*"})])
async def test_program_receives_a_problem_document(
    http: httpx2.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    answer = await http.get(path, headers=headers)

    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["/admin/workers", "/api/workers"])
async def test_unexpected_error_shows_a_reference_that_is_also_in_the_log(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    async def break_down(*_: object, **__: object) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(Workers, "list", break_down)
    door.client._transport.raise_app_exceptions = False  # type: ignore[attr-defined]

    with caplog.at_level(logging.ERROR, "rolecall.web"):
        answer = await door.client.get(path, headers=BROWSER | await door.key(Scope.READ))

    assert answer.status_code == 500
    assert "secret" not in answer.text
    reference = re.search(r"reference ([0-9a-f]{8})", answer.text)
    assert reference
    assert reference[1] in caplog.text
    assert ("<h1>" in answer.text) == (path == "/admin/workers")


async def test_too_many_requests_return_a_retry_time(database: str, pool: Engine) -> None:
    async with opened(database, requests_per_minute=1) as door:
        key = await door.key(Scope.READ)
        for _ in range(2):
            await door.client.get("/admin/workers", headers=key)

        page = await door.client.get("/admin/workers", headers=key | BROWSER)

    assert page.status_code == 429
    assert int(page.headers["retry-after"]) >= 1
    assert "try again in" in page.text
