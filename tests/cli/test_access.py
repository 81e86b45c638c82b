"""`rolecall keys` and `rolecall people`, and a server that refuses to start without them."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from datetime import datetime, timedelta

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended

PASSWORD = "correct horse battery staple"
ANYWHERE = "0.0.0.0"  # noqa: S104 - nobody but this test asks


def test_key_is_created_shown_once_listed_and_revoked(cli: Run) -> None:
    made = cli("keys", "create", "deploy", "--scope", "operate", "--days", "7")
    [secret] = re.findall(r"^rk_\S{43}$", made.out, re.MULTILINE)
    [key] = cli("keys", "list", "--json").json
    revoked = cli("keys", "revoke", key["id"])
    again = cli("keys", "revoke", key["id"])

    assert (key["name"], key["scope"], key["prefix"]) == ("deploy", "operate", secret[:11])
    assert secret not in cli("keys", "list").out
    assert (revoked.code, again.code) == (0, 4)
    assert cli("keys", "list", "--json").json[0]["revoked_at"]


def test_key_lifetime_is_thirty_days_by_default(cli: Run) -> None:
    assert cli("keys", "create", "a", "--scope", "read", "--never", "--json").json["key"]["expires_at"] is None
    assert cli("keys", "create", "b", "--scope", "read", "--days", "122").code == 2
    assert cli("keys", "create", "c", "--scope", "read", "--days", "3", "--never").code == 2
    key = cli("keys", "create", "d", "--scope", "read", "--json").json["key"]

    assert datetime.fromisoformat(key["expires_at"]) - datetime.fromisoformat(key["created_at"]) == timedelta(days=30)


def test_people_can_be_added_changed_and_removed(cli: Run) -> None:
    added = cli("people", "add", "ada", "--scope", "admin", stdin=f"{PASSWORD}\n")
    again = cli("people", "add", "ada", "--scope", "read", stdin=f"{PASSWORD}\n")
    listed = cli("people", "list", "--json").json
    changed = cli("people", "password", "ada", stdin="another long password\n")
    removed = cli("people", "remove", "ada")
    unknown = cli("people", "password", "ada", stdin="another long password\n")

    assert (added.code, again.code, changed.code, removed.code, unknown.code) == (0, 5, 0, 0, 4)
    assert [(person["name"], person["scope"]) for person in listed] == [("ada", "admin")]
    assert "password_hash" not in listed[0]
    assert cli("people", "list").out.strip() == "no people"


def test_person_can_be_unlocked(cli: Run, sql: Callable[..., list[tuple[int]]]) -> None:
    cli("people", "add", "ada", "--scope", "read", stdin=f"{PASSWORD}\n")
    for _ in range(10):
        sql("select rolecall.try_to_log_in(sha256('ada'), sha256('here'), null, 3, 10, '900 s')")

    unlocked, unknown = cli("people", "unlock", "ada"), cli("people", "unlock", "eve")

    assert (unlocked.code, unknown.code) == (0, 4)
    assert "ada unlocked" in unlocked.out
    assert sql("select count(*) from rolecall.login_attempts") == [(0,)]
    assert cli("audit", "--json", "--action", "people.unlock").json[-1]["detail"] == {"name": "ada"}


def test_short_password_is_rejected_and_not_repeated(cli: Run) -> None:
    done = cli("people", "add", "ada", "--scope", "read", stdin="tooshort\n")

    assert done.code == 2
    assert "12 to 1000" in done.err
    assert "tooshort" not in done.err


def test_cli_changes_are_recorded_in_the_audit_log(cli: Run, sql: object) -> None:
    cli("keys", "create", "deploy", "--scope", "read")
    cli("people", "add", "ada", "--scope", "read", stdin=f"{PASSWORD}\n")

    rows = sql("select action, detail::text from rolecall.audit_log order by id")  # type: ignore[operator]

    assert [action for action, _ in rows] == ["keys.create", "people.add"]
    assert PASSWORD not in str(rows)


@pytest.mark.parametrize("verb", [["serve", "--host", ANYWHERE, "--port", "0"], ["up", "--http", f"{ANYWHERE}:0"]])
def test_serving_a_public_address_requires_a_key_first(cli: Run, verb: list[str]) -> None:
    done = cli(*verb)

    assert done.code == 2
    assert "rolecall keys create" in done.err


@pytest.mark.parametrize("verb", [["serve", "--host", ANYWHERE, "--port", "0"], ["up", "--http", f"{ANYWHERE}:0"]])
def test_public_address_can_never_be_served_without_authentication(cli: Run, verb: list[str]) -> None:
    cli("keys", "create", "deploy", "--scope", "admin")

    done = cli(*verb, "--auth", "off")

    assert done.code == 2
    assert "127.0.0.1 and ::1 only" in done.err


@pytest.mark.parametrize(
    ("words", "front", "origin"),
    [
        (["--host", ANYWHERE], "127.0.0.1", "192.0.2.7"),
        (["--auth", "keys"], "127.0.0.1", "192.0.2.7"),
        (["--auth", "keys"], "", "127.0.0.1"),
    ],
)
def test_public_address_is_served_only_to_callers_with_a_key(
    cli: Run, spawn: Spawn, dsn: str, words: list[str], front: str, origin: str
) -> None:
    secret = cli("keys", "create", "deploy", "--scope", "read", "--json").json["secret"]
    environment = {"DATABASE_URL": dsn, "ROLECALL_FORWARDED_BY": front}
    server = spawn("serve", "--port", "0", "--json", *words, **environment)
    url = str(document(server)["http"]).replace(ANYWHERE, "127.0.0.1")

    unknown = httpx2.get(f"{url}/api/roles", timeout=30)
    known = httpx2.get(f"{url}/api/roles", headers={"authorization": f"Bearer {secret}"}, timeout=30)
    forwarded = httpx2.post(
        f"{url}/api/login", json={"name": "x", "password": "y"}, headers={"x-forwarded-for": "192.0.2.7"}, timeout=30
    )
    server.send_signal(signal.SIGTERM)
    done = ended(server)

    assert (unknown.status_code, known.status_code, forwarded.status_code) == (401, 200, 401)
    assert secret not in done.err
    assert f"origin={origin}" in done.err
    assert ("whose X-Forwarded-For is not trusted" in done.err) is (front == "")


def test_invalid_auth_mode_or_origin_is_rejected(bare: Run) -> None:
    assert bare("serve", "--auth", "maybe").code == 2
    assert bare("serve", "--trusted-origins", "work.example").code == 2
