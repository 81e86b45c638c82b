"""Rows of access control: attempts are counted before they are checked, and unused keys are deleted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

from rolecall.db.connect import connect
from rolecall.testing import Clock

Connection = psycopg.Connection[Any]
KEY = "select rolecall.create_api_key(%s, 'read', %s, sha256(%s::text::bytea), %s::interval)"

TRY = """
select wait from rolecall.try_to_log_in(sha256('ada'), sha256('network'), null, %(most)s, %(most)s, '900 s')
"""


def make_key(connection: Connection, name: str, lifetime: str | None) -> None:
    connection.execute(KEY, [name, f"rk_{name}", name, lifetime])


def names(connection: Connection, where: str = "true") -> set[str]:
    return {name for (name,) in connection.execute(f"select name from rolecall.api_keys where {where}").fetchall()}


def prune(connection: Connection) -> dict[str, int]:
    return dict(connection.execute("select what, number from rolecall.prune()").fetchall())


def test_concurrent_attempts_are_limited_like_sequential_ones(database: str) -> None:

    def attempt(_: int) -> float | None:
        with connect(database, "test") as connection:
            row = connection.execute(TRY, {"most": 10}).fetchone()
            assert row
            return None if row[0] is None else float(row[0])

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(attempt, range(24)))

    assert answers.count(None) == 10
    assert all(0 < wait <= 900 for wait in answers if wait is not None)


def test_failure_count_is_reset_after_the_window(connection: Connection, clock: Clock) -> None:
    first = connection.execute(TRY, {"most": 2}).fetchone()
    clock.advance(seconds=901)
    second, third, fourth = (connection.execute(TRY, {"most": 2}).fetchone() for _ in range(3))

    assert (first, second, third) == ((None,), (None,), (None,))
    assert fourth == (900.0,)


def test_key_unused_for_thirty_days_is_revoked_unless_it_never_expires(connection: Connection, clock: Clock) -> None:
    for name, lifetime in (("idle", "121 days"), ("used", "121 days"), ("for ever", None)):
        make_key(connection, name, lifetime)
    clock.advance(days=31)
    connection.execute("select rolecall.touch_api_key(id) from rolecall.api_keys where name = 'used'")

    prune(connection)

    assert names(connection, "revoked_at is null") == {"used", "for ever"}


def test_key_that_admitted_no_request_for_thirty_days_is_deleted(connection: Connection, clock: Clock) -> None:
    make_key(connection, "short", "1 day")
    make_key(connection, "long", "60 days")
    clock.advance(days=29)
    connection.execute("select rolecall.touch_api_key(id) from rolecall.api_keys")
    assert prune(connection)["api_keys"] == 0
    clock.advance(days=3)

    assert prune(connection)["api_keys"] == 1

    assert names(connection) == {"long"}


def test_ended_sessions_and_old_attempts_are_deleted(connection: Connection, clock: Clock) -> None:
    connection.execute("select rolecall.add_person('ada', 'read', 'hash')")
    connection.execute("select rolecall.open_session(1, 'hash', sha256('1'), sha256('ada'), '1 hour', null)")
    connection.execute("select rolecall.open_session(1, 'hash', sha256('2'), sha256('ada'), '2 days', null)")
    connection.execute(TRY, {"most": 10})
    clock.advance(days=1, seconds=1)

    pruned = prune(connection)

    assert (pruned["sessions"], pruned["login_attempts"]) == (1, 2)


def test_session_is_not_opened_with_a_password_that_has_changed(connection: Connection) -> None:
    connection.execute("select rolecall.add_person('ada', 'read', 'old')")
    connection.execute("select rolecall.set_password('ada', 'new')")

    opened = connection.execute(
        "select rolecall.open_session(1, 'old', sha256('1'), sha256('ada'), '1 hour', null)"
    ).fetchone()

    assert opened == (None,)


def test_recording_a_use_does_not_wait_for_another_recording(database: str, connection: Connection) -> None:
    make_key(connection, "deploy", None)
    with connect(database, "test") as other, other.transaction():
        other.execute("select rolecall.touch_api_key(1)")
        connection.execute("set lock_timeout = '1 s'")
        connection.execute("select rolecall.touch_api_key(1)")
