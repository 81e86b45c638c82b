"""Announcements of changed problems."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.history.test_roll_up import begin

CALL = """\
select change, kind, subjects from rolecall.announce_problems('1 min', '5 min') where kind = 'no_worker'
"""


def announce(engine: Engine, *, minutes: float = 0) -> list[tuple[str, str, list[str]]]:
    engine.clock.advance(minutes=minutes)
    return [tuple(row) for row in engine.rows(CALL)]


def strand(engine: Engine, *roles: str) -> list[int]:
    """Enqueue a task to each of these roles, which no worker serves, and let two minutes pass."""
    engine.declare(*({"name": role} for role in roles))
    ids, _ = engine.enqueue_many([{"role": role} for role in roles])
    engine.clock.advance(minutes=2)
    return ids


def test_problem_is_announced_once_after_it_has_lasted(engine: Engine) -> None:
    begin(engine)
    strand(engine, "mail")

    assert announce(engine) == []
    assert announce(engine, minutes=1) == [("opened", "no_worker", ["mail"])]
    assert announce(engine, minutes=1) == []


def test_problem_that_reaches_another_role_is_announced_again(engine: Engine) -> None:
    begin(engine)
    strand(engine, "mail")
    announce(engine)
    announce(engine, minutes=1)
    strand(engine, "sms")
    announce(engine)

    assert announce(engine, minutes=1) == [("opened", "no_worker", ["mail", "sms"])]


def test_problem_that_is_over_is_resolved_after_a_while(engine: Engine) -> None:
    begin(engine)
    [task] = strand(engine, "mail")
    announce(engine)
    announce(engine, minutes=1)
    engine.cancel(task)

    assert announce(engine, minutes=4) == []
    assert announce(engine, minutes=2) == [("resolved", "no_worker", ["mail"])]
    assert announce(engine, minutes=1) == []


def test_short_problem_is_never_announced(engine: Engine) -> None:
    begin(engine)
    [task] = strand(engine, "mail")
    announce(engine)
    engine.cancel(task)

    assert announce(engine, minutes=1) == []
    assert announce(engine, minutes=10) == []


def test_rolled_back_announcement_is_repeated(engine: Engine) -> None:
    begin(engine)
    strand(engine, "mail")
    announce(engine)
    engine.clock.advance(minutes=1)
    engine.rows(f"begin; {CALL}; rollback")

    assert announce(engine) == [("opened", "no_worker", ["mail"])]
