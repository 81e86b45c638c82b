"""Security and caching headers of every response."""

from __future__ import annotations

from typing import Any

import pytest

from rolecall.model.operator.access import Scope
from rolecall.service.access import Keys
from tests.web.doors import Door, opened

WANTED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


@pytest.mark.parametrize("path", ["/healthz", "/api/keys", "/api/nothing", "/api/keys/0", "/openapi.json"])
async def test_every_response_has_the_security_headers(door: Door, path: str) -> None:
    for headers in ({}, await door.key(Scope.ADMIN)):
        answer = await door.client.get(path, headers=headers)

        assert WANTED.items() <= answer.headers.items()
        assert answer.headers.get("cache-control") == ("no-store" if path.startswith("/api/") else None)


async def test_response_to_an_unexpected_error_has_the_security_headers(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_down(*_: Any) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(Keys, "list", break_down)
    door.client._transport.raise_app_exceptions = False  # type: ignore[attr-defined]

    answer = await door.client.get("/api/keys", headers=await door.key(Scope.ADMIN))

    assert answer.status_code == 500
    assert WANTED.items() <= answer.headers.items()
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("site", "promised"),
    [
        ("https://work.example", True),
        ("https://work.example:8443", True),
        ("http://work.example", False),
        ("https://localhost:8443", False),
        ("https://127.0.0.1", False),
    ],
)
async def test_host_reached_over_https_sends_hsts(database: str, site: str, promised: bool) -> None:
    async with opened(database, base_url=site) as door:
        answers = [await door.client.get(path) for path in ("/healthz", "/api/me", "/login", "/nowhere")]

    assert {answer.headers.get("strict-transport-security") for answer in answers} == (
        {"max-age=31536000"} if promised else {None}
    )


@pytest.mark.parametrize("path", ["/api/keys/", "/healthz/", "/tasks/", "/api//keys"])
async def test_redirect_is_never_built_from_the_clients_host_header(door: Door, path: str) -> None:
    answer = await door.client.get(path, headers={"host": "evil.example", **await door.key(Scope.ADMIN)})

    assert answer.status_code == 404
    assert "location" not in answer.headers
