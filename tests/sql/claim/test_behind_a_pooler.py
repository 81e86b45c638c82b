"""Workers behind a pooler share a server session and its watermarks; no task is missed because of that."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from time import monotonic

import psycopg
import pytest

from rolecall.testing import Clock
from tests.servers import bouncing
from tests.sql.engine import Engine

PATIENCE = 30.0


@pytest.fixture
def sharing(live_engine: Engine) -> Iterator[tuple[Engine, Engine]]:
    """Two clients of a PgBouncer with one server session."""
    with bouncing(live_engine.database, size=1) as bouncer:
        through = bouncer.through(live_engine.database)
        with (
            psycopg.connect(through, autocommit=True, prepare_threshold=None) as one,
            psycopg.connect(through, autocommit=True, prepare_threshold=None) as other,
        ):
            clock = Clock(live_engine.database)
            yield Engine(one, clock, through), Engine(other, clock, through)


def next_claim(engine: Engine, *roles: str) -> int:
    """Claim until a task is found: a session scans below its watermark a little later."""
    deadline = monotonic() + PATIENCE
    while not (claims := engine.claim(1, *roles, reset_watermark=False)):
        assert monotonic() < deadline
    return claims[0].id


def test_task_below_the_watermark_left_by_another_client_is_claimed(
    live_engine: Engine, sharing: tuple[Engine, Engine]
) -> None:
    one, other = sharing
    taken = live_engine.enqueue()
    assert next_claim(one) == taken
    before = live_engine.value("select clock_timestamp()") - timedelta(hours=1)
    late = live_engine.enqueue(scheduled_for=before.isoformat())

    assert next_claim(other) == late


def test_client_of_another_role_does_not_affect_watermarks_of_other_roles(
    live_engine: Engine, sharing: tuple[Engine, Engine]
) -> None:
    one, other = sharing
    live_engine.declare({"name": "mail"})
    mails = [live_engine.enqueue("mail") for _ in range(3)]
    works = [live_engine.enqueue("work") for _ in range(3)]

    for mail, work in zip(mails, works, strict=True):
        assert next_claim(one, "work") == work
        assert next_claim(other, "mail") == mail
