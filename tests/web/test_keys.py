"""API keys: permissions and expiry."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ApiKeyNotFound, ConfigError
from rolecall.model.operator.access import Scope
from tests.web.doors import Door

Sql = psycopg.Connection[Any]


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


async def ask(door: Door, secret: str) -> int:
    return (await door.client.get("/api/me", headers=bearer(secret))).status_code


async def test_key_grants_its_scope(door: Door) -> None:
    answer = await door.client.get("/api/me", headers=await door.key(Scope.OPERATE))

    assert answer.status_code == 200
    assert answer.json() == {"name": "operate (API key 1)", "scope": "operate"}


async def test_secret_is_256_random_bits_and_only_its_digest_is_stored(door: Door, connection: Sql) -> None:
    made = await door.services.keys.create("deploy", Scope.READ)

    assert re.fullmatch(r"rk_[A-Za-z0-9_-]{43}", made.secret)
    assert made.secret.startswith(made.key.prefix)
    [(stored,)] = connection.execute("select row_to_json(api_keys)::text from rolecall.api_keys").fetchall()
    assert made.secret not in stored
    assert made.secret[11:] not in stored


@pytest.mark.parametrize("days", [1, 30, 121])
async def test_key_expires_after_the_given_number_of_days(door: Door, days: int) -> None:
    key = (await door.services.keys.create("deploy", Scope.READ, days)).key

    assert key.expires_at is not None
    assert (key.expires_at - key.created_at).days == days


@pytest.mark.parametrize("days", [0, 122, -1])
async def test_key_lifetime_is_at_most_121_days(door: Door, days: int) -> None:
    with pytest.raises(ConfigError, match="must be 1 to 121"):
        await door.services.keys.create("deploy", Scope.READ, days)


async def test_key_can_be_created_without_an_expiry(door: Door) -> None:
    assert (await door.services.keys.create("deploy", Scope.READ, None)).key.expires_at is None


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 101])
async def test_key_must_have_a_readable_name(door: Door, name: str) -> None:
    with pytest.raises(ConfigError, match="printable"):
        await door.services.keys.create(name, Scope.READ)


async def test_revoked_key_is_rejected(door: Door) -> None:
    made = await door.services.keys.create("deploy", Scope.READ)
    assert await ask(door, made.secret) == 200

    await door.services.keys.revoke(made.key.id)

    assert await ask(door, made.secret) == 401
    with pytest.raises(ApiKeyNotFound):
        await door.services.keys.revoke(made.key.id)


async def test_expired_key_is_rejected(door: Door, connection: Sql) -> None:
    made = await door.services.keys.create("deploy", Scope.READ, 1)
    connection.execute("update rolecall.api_keys set expires_at = now() - interval '1 s'")

    assert await ask(door, made.secret) == 401


@pytest.mark.parametrize(
    "shown",
    ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer rk_short", "Bearer rk_" + "x" * 43, "Bearer rk_" + "x" * 4_000],
)
async def test_unknown_key_is_rejected_with_a_www_authenticate_header(door: Door, shown: str) -> None:
    answer = await door.client.get("/api/me", headers={"authorization": shown})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert shown.partition(" ")[2].strip() not in answer.text or shown in {"", "Bearer", "Bearer "}


async def test_key_with_a_valid_prefix_and_an_invalid_suffix_is_rejected(door: Door) -> None:
    secret = (await door.services.keys.create("deploy", Scope.READ)).secret
    wrong = secret[:-1] + ("A" if secret[-1] != "A" else "B")

    assert await ask(door, wrong) == 401


async def test_last_use_is_recorded_at_most_once_a_minute(door: Door, connection: Sql) -> None:
    made = await door.services.keys.create("deploy", Scope.READ)
    await ask(door, made.secret)
    first = (await door.services.keys.get(made.key.id)).last_used_at
    await ask(door, made.secret)
    assert (await door.services.keys.get(made.key.id)).last_used_at == first
    connection.execute("update rolecall.api_keys set last_used_at = last_used_at - interval '61 s'")

    await ask(door, made.secret)

    last = (await door.services.keys.get(made.key.id)).last_used_at
    assert first is not None
    assert last is not None
    assert last > first


async def test_keys_are_created_listed_and_revoked_over_http(door: Door) -> None:
    admin = await door.key(Scope.ADMIN)
    made = await door.client.post("/api/keys", json={"name": "deploy", "scope": "read", "days": 7}, headers=admin)
    place = made.headers["location"]

    shown = await door.client.get(place, headers=admin)
    listed = await door.client.get("/api/keys", headers=admin)
    works = await ask(door, made.json()["secret"])
    revoked = await door.client.delete(place, headers=admin)
    again = await door.client.delete(place, headers=admin)

    assert (made.status_code, shown.status_code, works) == (201, 200, 200)
    assert (revoked.status_code, again.status_code) == (204, 404)
    assert [key["name"] for key in listed.json()["items"]] == ["deploy", "admin"]
    assert made.json()["secret"] not in listed.text + shown.text
    assert "digest" not in listed.text
    assert await ask(door, made.json()["secret"]) == 401


@pytest.mark.parametrize(
    "wish",
    [
        {"name": "x"},
        {"name": "x", "scope": "root"},
        {"name": "x", "scope": "read", "days": True},
        {"name": "x", "scope": "read", "days": 0},
        {"name": "x", "scope": "read", "secret": "rk_mine"},
        {"name": 1, "scope": "read"},
    ],
)
async def test_invalid_key_request_is_rejected(door: Door, wish: dict[str, object]) -> None:
    answer = await door.client.post("/api/keys", json=wish, headers=await door.key(Scope.ADMIN))

    assert answer.status_code == 422


async def test_audit_log_records_which_key_made_the_request(door: Door) -> None:
    await door.client.post("/api/keys", json={"name": "x", "scope": "read"}, headers=await door.key(Scope.ADMIN))

    [event, *_] = await door.services.audit.list(AuditFilter(action="keys.create"))

    assert (event.actor, event.via) == ("admin (API key 1)", "api")
    assert event.detail == {"name": "x", "scope": "read", "days": 30}


async def test_change_with_a_key_needs_no_browser_origin(door: Door) -> None:
    headers = {**await door.key(Scope.ADMIN), "origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}

    answer: httpx2.Response = await door.client.post("/api/keys", json={"name": "x", "scope": "read"}, headers=headers)

    assert answer.status_code == 201
