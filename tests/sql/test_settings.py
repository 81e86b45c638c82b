"""The settings that functions read: the logins that can set each one, and why other logins are not harmed."""

from __future__ import annotations

import re

from tests.sql.engine import Engine

OWNER = "the owner"
EVERYBODY = "every login"

# Setting, the logins whose value is used, and why no login gains or breaks anything by setting it.
SETTINGS = {
    "rolecall.fake_now": (OWNER, "the clock ignores it in the sessions of all other logins"),
    "rolecall.notify": (EVERYBODY, "leaves out the notifications of its own calls, whose tasks the next poll finds"),
    "rolecall.events": (EVERYBODY, "collects events for the session itself, which alone reads them"),
    "rolecall.held_back": (EVERYBODY, "an answer of claim to the session itself; no function reads it"),
    "rolecall.ended_here": (EVERYBODY, "leaves out verdicts of its own reports; which tasks end is decided before"),
    "rolecall.all_lines_until": (EVERYBODY, "chooses how its own claims list lines"),
    "rolecall.open_lines_took": (EVERYBODY, "chooses how its own claims list lines"),
    "rolecall.floor_": (EVERYBODY, "its own claims skip tasks, as if it claimed less"),
    "rolecall.look_": (EVERYBODY, "chooses how long its own claims trust their floors"),
    "rolecall.task": (EVERYBODY, "an answer of current_task to the session itself; no function calls that"),
    "transaction_isolation": (EVERYBODY, "a level other than read committed is refused"),
    "synchronous_commit": (EVERYBODY, "a transaction that must be durable turns it on"),
    "lock_timeout": (EVERYBODY, "functions that wait set their own; others end the caller's own call"),
    "idle_in_transaction_session_timeout": (EVERYBODY, "ends its own transaction only, sooner or later"),
    "application_name": (EVERYBODY, "a worker proves its own sessions with it; workers are bound to logins"),
}
READ = re.compile(r"current_setting\(\s*(?:'([^']+)'|(\w+))")
WRITTEN = re.compile(r"set_config\(\s*(?:'([^']+)'|(\w+))")
# Variables that contain the name of a setting.
VARIABLES = {"v_looked": "rolecall.look_"}
WRITTEN_ONLY = {"search_path", "rolecall.held_back"}


def settings(engine: Engine, pattern: re.Pattern[str]) -> set[str]:
    bodies = engine.rows("select prosrc from pg_proc where pronamespace = 'rolecall'::regnamespace")
    found = [match for (body,) in bodies for match in pattern.findall(body)]
    return {literal or VARIABLES[variable] for literal, variable in found}


def test_every_setting_that_functions_read_is_classified(engine: Engine) -> None:
    assert settings(engine, READ) == SETTINGS.keys() - WRITTEN_ONLY


def test_every_setting_that_functions_write_is_classified(engine: Engine) -> None:
    assert settings(engine, WRITTEN) <= SETTINGS.keys() | WRITTEN_ONLY


def test_only_the_clock_reads_a_setting_of_the_owner(engine: Engine) -> None:
    readers = {
        name
        for name, body in engine.rows(
            "select proname, prosrc from pg_proc where pronamespace = 'rolecall'::regnamespace"
        )
        if "rolecall.fake_now" in body
    }

    assert readers == {"clock"}
    assert [name for name, (who, _) in SETTINGS.items() if who == OWNER] == ["rolecall.fake_now"]


def test_function_that_waits_longer_sets_its_own_lock_timeout(engine: Engine) -> None:
    impatient = engine.rows(
        r"""select proname from pg_proc
        where pronamespace = 'rolecall'::regnamespace and prosrc ~ 'wait_longer\(\)|wait_a_while\('
            and proname <> 'wait_a_while' and not coalesce(proconfig::text, '') like '%%lock_timeout=%%'"""
    )

    assert impatient == []
