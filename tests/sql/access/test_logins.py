"""Login attempts are counted before they are checked: by name and network, and separately for known browsers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.testing import Clock

Connection = psycopg.Connection[Any]
TRY = "select wait, is_last from rolecall.try_to_log_in(%s, %s, %s, 3, 7, '900 s')"
MOST, MOST_OF_STRANGERS = 3, 7


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def attempt(connection: Connection, name: str, network: str, browser: str | None = None) -> tuple[float | None, bool]:
    shown = None if browser is None else digest(browser)
    row = connection.execute(TRY, [digest(name), digest(f"{name} {network}"), shown]).fetchone()
    assert row
    return row[0], row[1]


def attempts(connection: Connection, number: int, *who: str | None) -> list[bool]:
    """Return whether each of these attempts is allowed."""
    return [attempt(connection, *who)[0] is None for _ in range(number)]


def know(connection: Connection, name: str, browser: str) -> None:
    connection.execute("select rolecall.add_person(%s, 'read', 'hash')", [name])
    connection.execute(
        "select rolecall.welcome_browser(id, %s, %s, null, %s) from rolecall.people where name = %s",
        [digest(name), digest("x"), digest(browser), name],
    )


def rows(connection: Connection) -> int:
    return int(connection.execute("select count(*) from rolecall.login_attempts").fetchall()[0][0])


def test_failures_from_one_network_lock_the_name_for_that_network_only(connection: Connection) -> None:
    assert attempts(connection, 4, "ada", "here") == [True, True, True, False]
    assert attempts(connection, 3, "ada", "there") == [True] * 3
    assert attempts(connection, 1, "eve", "here") == [True]


def test_last_allowed_attempt_is_marked(connection: Connection) -> None:
    assert [attempt(connection, "ada", "here") for _ in range(4)] == [
        (None, False),
        (None, False),
        (None, True),
        (pytest.approx(900, abs=60), False),
    ]


def test_failures_from_many_networks_lock_the_name_for_all_unknown_browsers(connection: Connection) -> None:
    went_on = [attempts(connection, 1, "ada", str(number)) == [True] for number in range(9)]

    assert went_on == [True] * MOST_OF_STRANGERS + [False] * 2


def test_known_browser_has_its_own_failure_count(connection: Connection) -> None:
    know(connection, "ada", "mine")
    attempts(connection, 20, "ada", "here")

    assert attempts(connection, 4, "ada", "here", "mine") == [True, True, True, False]
    assert attempts(connection, 1, "ada", "elsewhere", "mine") == [False]


@pytest.mark.parametrize(("name", "browser"), [("ada", "theirs"), ("eve", "mine")])
def test_browser_known_for_another_person_counts_as_unknown(connection: Connection, name: str, browser: str) -> None:
    know(connection, "ada", "mine")
    know(connection, "bob", "theirs")
    attempts(connection, 20, name, "here")

    assert attempts(connection, 1, name, "here", browser) == [False]


def test_browser_gets_a_new_token_only_if_it_was_unknown(connection: Connection) -> None:
    know(connection, "ada", "mine")
    welcome = "select rolecall.welcome_browser(1, %s, %s, %s, %s)"
    again = connection.execute(welcome, [digest("ada"), digest("x"), digest("mine"), digest("new")]).fetchone()
    stranger = connection.execute(welcome, [digest("ada"), digest("x"), digest("planted"), digest("new")]).fetchone()
    [(planted,)] = connection.execute(
        "select count(*) from rolecall.known_browsers where digest = %s", [digest("planted")]
    ).fetchall()

    assert (again, stranger, planted) == ((False,), (True,), 0)


@pytest.mark.parametrize("how", ["set_password('ada', 'other')", "remove_person('ada')"])
def test_password_change_and_removal_forget_all_browsers(connection: Connection, how: str) -> None:
    know(connection, "ada", "mine")

    connection.execute(f"select rolecall.{how}")

    assert connection.execute("select * from rolecall.known_browsers").fetchall() == []


@pytest.mark.parametrize("how", ["unlock_person('ada')", "set_password('ada', 'other')"])
def test_unlock_or_new_password_ends_a_lockout(connection: Connection, how: str) -> None:
    know(connection, "ada", "mine")
    for who in (("ada", "here"), ("ada", "there"), ("ada", "here", "mine"), ("eve", "here")):
        attempts(connection, 4, *who)

    connection.execute(f"select rolecall.{how}")

    assert attempts(connection, 1, "ada", "here") == [True]
    assert attempts(connection, 1, "ada", "there") == [True]
    assert attempts(connection, 1, "eve", "here") == [False]


def test_unlock_returns_whether_the_person_exists(connection: Connection) -> None:
    connection.execute("select rolecall.add_person('ada', 'read', 'hash')")

    assert connection.execute("select rolecall.unlock_person('ada'), rolecall.unlock_person('eve')").fetchone() == (
        True,
        False,
    )


def test_successful_login_clears_its_own_failures_only(connection: Connection) -> None:
    know(connection, "ada", "mine")
    attempts(connection, 2, "ada", "here")
    attempts(connection, 4, "ada", "attacker")
    before = rows(connection)

    connection.execute(
        "select rolecall.welcome_browser(1, %s, %s, null, %s)", [digest("ada"), digest("ada here"), digest("new")]
    )

    assert rows(connection) == before - 2
    assert attempts(connection, 3, "ada", "here") == [True] * 3
    assert attempts(connection, 1, "ada", "attacker") == [False]


def test_concurrent_attempts_are_limited_like_sequential_ones(database: str) -> None:

    def try_once(number: int) -> bool:
        with connect(database, "test") as connection:
            return attempts(connection, 1, "ada", str(number % 2)) == [True]

    with ThreadPoolExecutor(8) as pool:
        went_on = list(pool.map(try_once, range(24)))

    assert went_on.count(True) == 2 * MOST


def test_failure_count_is_reset_after_the_window(connection: Connection, clock: Clock) -> None:
    attempts(connection, 4, "ada", "here")
    clock.advance(seconds=901)

    assert attempts(connection, 4, "ada", "here") == [True, True, True, False]


def test_browsers_not_seen_for_half_a_year_are_forgotten(connection: Connection, clock: Clock) -> None:
    know(connection, "ada", "old")
    clock.advance(days=100)
    know(connection, "bob", "newer")
    clock.advance(days=81)

    pruned = dict(connection.execute("select what, number from rolecall.prune()").fetchall())

    assert pruned["known_browsers"] == 1
    assert connection.execute("select digest from rolecall.known_browsers").fetchall() == [(digest("newer"),)]


def test_recording_session_use_does_not_wait_for_another_recording(database: str, connection: Connection) -> None:
    connection.execute("select rolecall.add_person('ada', 'read', 'hash')")
    connection.execute("select rolecall.open_session(1, 'hash', sha256('1'), sha256('ada'), '1 hour', null)")
    with connect(database, "test") as other, other.transaction():
        other.execute("select rolecall.touch_session(sha256('1'))")
        connection.execute("set lock_timeout = '1 s'")
        connection.execute("select rolecall.touch_session(sha256('1'))")
