"""Login by name and password without disclosing which users exist."""

from __future__ import annotations

from time import process_time
from typing import Any

import psycopg
import pytest

from rolecall.config import AccessSettings
from rolecall.model.audit import AuditFilter
from rolecall.model.errors import ConfigError, DuplicatePerson, PersonNotFound
from rolecall.model.operator.access import Scope
from rolecall.web.access.passwords import hash_password
from tests.web.doors import PASSWORD, SITE, Door, opened

Sql = psycopg.Connection[Any]


async def me(door: Door) -> int:
    return (await door.client.get("/api/me")).status_code


async def test_login_opens_a_session_and_logout_ends_it(door: Door) -> None:
    await door.person(scope=Scope.READ)
    entered = await door.log_in()
    shown = await door.client.get("/api/me")
    kept = door.client.cookies["rolecall"]
    left = await door.client.post("/api/logout", headers={"origin": SITE})

    assert (entered.status_code, left.status_code) == (204, 204)
    assert shown.json() == {"name": "ada", "scope": "read"}
    assert list(door.client.cookies) == ["rolecall-browser"]
    assert (await door.client.get("/api/me", headers={"cookie": f"rolecall={kept}"})).status_code == 401


async def test_cookie_is_inaccessible_to_scripts_and_other_sites(door: Door) -> None:
    await door.person()

    cookie = (await door.log_in()).headers["set-cookie"]

    assert cookie.startswith("rolecall=rs_")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))


async def test_cookie_over_https_is_bound_to_the_host(database: str) -> None:
    async with opened(database, base_url="https://rolecall.test") as door:
        await door.person()

        cookie = (await door.log_in()).headers["set-cookie"]

        assert cookie.startswith("__Host-rolecall=rs_")
        assert "Secure" in cookie.split("; ")
        assert "domain" not in cookie.lower()


async def test_only_the_digest_of_a_session_is_stored(door: Door, connection: Sql) -> None:
    await door.person()
    await door.log_in()

    [(stored,)] = connection.execute("select row_to_json(sessions)::text from rolecall.sessions").fetchall()

    assert door.client.cookies["rolecall"] not in stored


async def test_session_expires_automatically(door: Door, connection: Sql) -> None:
    await door.person()
    await door.log_in()
    assert await me(door) == 200

    connection.execute("update rolecall.sessions set expires_at = now() - interval '1 s'")

    assert await me(door) == 401


@pytest.mark.parametrize(("minutes", "status"), [(9, 200), (11, 401)])
async def test_session_idle_for_the_configured_time_ends(
    database: str, connection: Sql, minutes: int, status: int
) -> None:
    async with opened(database, session_idle_minutes=10) as door:
        await door.person()
        await door.log_in()
        long_ago = "now() - make_interval(mins => %s)"
        connection.execute(
            f"update rolecall.sessions set created_at = {long_ago}, last_used_at = {long_ago}", [minutes, minutes]
        )

        assert await me(door) == status


async def test_session_in_use_is_not_idle(database: str, connection: Sql) -> None:
    async with opened(database) as door:
        await door.person()
        await door.log_in()
        connection.execute("update rolecall.sessions set created_at = now() - interval '1 h', last_used_at = null")

        await me(door)

    used = connection.execute("select last_used_at > now() - interval '30 min' from rolecall.sessions").fetchall()
    assert used == [(True,)]


@pytest.mark.parametrize("how", ["password", "remove"])
async def test_changed_password_or_removed_person_ends_the_sessions(door: Door, how: str) -> None:
    await door.person()
    await door.log_in()
    assert await me(door) == 200

    if how == "remove":
        await door.services.people.remove("ada")
    else:
        await door.services.people.set_password("ada", hash_password("another long password"))

    assert await me(door) == 401
    assert (await door.log_in()).status_code == 401


async def test_wrong_name_and_wrong_password_get_the_same_response(door: Door) -> None:
    await door.person()

    wrong_name, wrong_password = await door.log_in("eve"), await door.log_in(password="wrong")

    assert wrong_name.status_code == wrong_password.status_code == 401
    assert wrong_name.text == wrong_password.text


async def test_wrong_name_takes_as_long_as_a_wrong_password(database: str) -> None:
    async with opened(database, logins_per_minute=100) as door:
        await door.person()

        async def seconds(name: str) -> float:
            began = process_time()  # excludes other load of the machine
            await door.log_in(name, "wrong")
            return process_time() - began

        known = min([await seconds("ada") for _ in range(3)])
        unknown = min([await seconds("eve") for _ in range(3)])

    # Without the comparison for unknown names, the response would take a tenth of the time.
    assert 1 / 3 < known / unknown < 3


@pytest.mark.parametrize("name", ["ada", "eve"])
async def test_ten_failures_lock_even_an_unknown_name_for_900_s(database: str, connection: Sql, name: str) -> None:
    async with opened(database, logins_per_minute=100) as door:
        await door.person()
        failures = [(await door.log_in(name, "wrong")).status_code]
        connection.execute("update rolecall.login_attempts set attempts = 8")
        failures += [(await door.log_in(name, "wrong")).status_code for _ in range(2)]
        locked = await door.log_in(name)
        connection.execute("update rolecall.login_attempts set locked_until = now() - interval '1 s'")
        later = await door.log_in(name)

    assert failures == [401] * 3
    assert locked.status_code == 429
    assert 890 < int(locked.headers["retry-after"]) <= 900
    assert later.status_code == (204 if name == "ada" else 401)


async def test_number_of_failures_and_lock_duration_are_configurable(database: str) -> None:
    async with opened(database, failed_logins=2, lockout=60.0) as door:
        await door.person()
        failures = [(await door.log_in(password="wrong")).status_code for _ in range(2)]
        locked = await door.log_in()

    assert (failures, locked.status_code) == ([401, 401], 429)
    assert 50 < int(locked.headers["retry-after"]) <= 60


async def test_successful_login_resets_the_failure_count(database: str, connection: Sql) -> None:
    async with opened(database, logins_per_minute=100) as door:
        await door.person()
        await door.log_in(password="wrong")
        connection.execute("update rolecall.login_attempts set attempts = 9")
        entered, wrong, again = await door.log_in(), await door.log_in(password="wrong"), await door.log_in()

    assert [answer.status_code for answer in (entered, wrong, again)] == [204, 401, 204]


async def test_too_many_attempts_from_one_address_are_rate_limited(database: str) -> None:
    async with opened(database, logins_per_minute=2) as door:
        await door.person()
        answers = [await door.log_in(f"name{number}", "wrong") for number in range(4)]

    assert [answer.status_code for answer in (*answers[:2], answers[-1])] == [401, 401, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


async def test_login_is_recorded_in_the_audit_log_with_the_persons_name(door: Door) -> None:
    await door.person()
    await door.log_in()

    [event] = await door.services.audit.list(AuditFilter(action="sessions.open"))

    assert (event.actor, event.via) == ("ada", "api")


async def test_name_that_looks_like_an_api_key_is_rejected(door: Door) -> None:
    with pytest.raises(ConfigError, match="must contain only letters"):
        await door.person("deploy (API key 7)")


async def test_name_of_a_person_is_unique(door: Door) -> None:
    await door.person()

    with pytest.raises(DuplicatePerson):
        await door.person()


async def test_unknown_person_cannot_be_removed_or_changed(door: Door) -> None:
    with pytest.raises(PersonNotFound):
        await door.services.people.remove("eve")
    with pytest.raises(PersonNotFound):
        await door.services.people.set_password("eve", "hash")


@pytest.mark.parametrize("password", ["", "short", "x" * 1_001])
def test_password_length_has_a_minimum_and_a_maximum(password: str) -> None:
    with pytest.raises(ConfigError, match="12 to 1000 characters") as refused:
        hash_password(password)

    assert refused.value.value == "(hidden)"


def test_password_is_stored_as_argon2id() -> None:
    assert hash_password(PASSWORD).startswith("$argon2id$")


def test_session_lasts_half_a_day_by_default() -> None:
    assert AccessSettings().session_minutes == 720
