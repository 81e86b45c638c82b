"""Workers without a session, and workers whose process can be inspected from one machine."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from tests.sql.engine import LEASE, Engine, report

MARK = "0123456789ab"
STANDING = "from pg_stat_activity where datname = current_database() and application_name ~ %s"


class Crew:
    """A worker with a named session, and another session that checks it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.session = self._open(f"rolecall:worker:claim:{MARK}")
        self.worker_id = engine.worker()
        self.tell(self.session, MARK)
        # A restart delays the proof by one lease.
        engine.rows("select rolecall.server_up_since()")
        engine.clock.advance(seconds=2 * LEASE)

    def tell(self, session: psycopg.Connection, mark: str | None) -> None:
        session.execute("select rolecall.tell_process(%s, 'here', 7, %s)", [self.worker_id, mark])

    def end_session(self) -> None:
        self.session.close()
        self.engine.rows(f"select pg_terminate_backend(pid, 10000) {STANDING}", MARK)

    def come_back(self) -> None:
        self.session = self._open(f"rolecall:worker:renew:{MARK}")

    def look(self) -> list[int]:
        return [worker_id for (worker_id,) in self.engine.rows("select * from rolecall.unseen_workers()")]

    def looks(self) -> list[int]:
        """Return the result of the second check."""
        self.look()
        self.engine.clock.advance(seconds=10)
        return self.look()

    def _open(self, name: str) -> psycopg.Connection:
        return psycopg.connect(self.engine.database, autocommit=True, application_name=name)


@pytest.fixture
def crew(engine: Engine) -> Iterator[Crew]:
    crew = Crew(engine)
    yield crew
    crew.session.close()


def test_a_worker_whose_session_stands_lives(crew: Crew) -> None:
    assert crew.looks() == []


def test_worker_without_a_session_at_two_looks_is_found(crew: Crew) -> None:
    crew.end_session()

    assert crew.looks() == [crew.worker_id]


def test_one_look_is_not_enough(crew: Crew) -> None:
    crew.end_session()

    assert crew.look() == []
    crew.engine.clock.advance(seconds=9)
    assert crew.look() == []


def test_a_session_that_came_back_starts_it_anew(crew: Crew) -> None:
    crew.end_session()
    crew.look()
    crew.come_back()
    crew.engine.clock.advance(seconds=20)
    assert crew.look() == []
    crew.end_session()

    assert crew.look() == []


def test_a_beat_between_the_looks_proves_that_it_lives(crew: Crew) -> None:
    crew.end_session()
    crew.look()
    crew.engine.clock.advance(seconds=10)
    crew.engine.rows("select rolecall.beat(%s, 0, false)", crew.worker_id)

    assert crew.look() == []


def test_a_session_that_runs_a_procedure_is_its_workers(crew: Crew) -> None:
    """The session can outlive its client, and is named after its task meanwhile."""
    with crew.session.transaction():
        crew.session.execute("select rolecall.name_session(%s, 5)", [crew.worker_id])

        assert crew.looks() == []


def test_another_server_proves_nothing_for_a_lease(crew: Crew) -> None:
    """Live workers reconnect within a lease."""
    crew.end_session()
    crew.look()
    crew.engine.clock.advance(seconds=10)
    crew.engine.rows("update rolecall.server_epoch set postmaster_started_at = 'epoch'")

    assert crew.look() == []
    assert crew.looks() == []
    crew.engine.clock.advance(seconds=LEASE)
    assert crew.looks() == [crew.worker_id]


def test_another_server_proves_nothing_for_the_lease_of_what_is_held(crew: Crew) -> None:
    crew.engine.declare({"name": "long", "lease": 600})
    crew.engine.enqueue("long")
    crew.engine.claim_one(worker=crew.worker_id)
    crew.end_session()
    crew.engine.rows("update rolecall.server_epoch set postmaster_started_at = 'epoch'")
    crew.look()
    crew.engine.clock.advance(seconds=500)

    assert crew.looks() == []
    crew.engine.clock.advance(seconds=100)
    assert crew.looks() == [crew.worker_id]


def test_a_name_that_is_not_the_sessions_own_proves_nothing(crew: Crew) -> None:
    """The DSN may set application_name."""
    crew.tell(crew.engine.connection, MARK)
    crew.end_session()

    assert crew.looks() == []


def test_a_worker_that_says_no_name_is_never_found(crew: Crew) -> None:
    crew.tell(crew.session, None)
    crew.end_session()

    assert crew.looks() == []


def test_a_worker_that_took_itself_off_the_roll_is_not_looked_for(crew: Crew) -> None:
    crew.engine.rows("select rolecall.deregister_worker(%s)", crew.worker_id)
    crew.end_session()

    assert crew.looks() == []


@pytest.mark.parametrize("idempotent", [True, False])
def test_worker_off_the_roll_is_found_while_it_holds_something_harmless(crew: Crew, *, idempotent: bool) -> None:
    crew.engine.declare({"name": "work", "idempotent": idempotent})
    crew.engine.enqueue()
    crew.engine.claim_one(worker=crew.worker_id)
    crew.engine.rows("update rolecall.workers set stopped_at = rolecall.clock()")
    crew.end_session()

    assert crew.looks() == ([crew.worker_id] if idempotent else [])


def test_session_that_completes_a_task_is_its_workers(crew: Crew) -> None:
    crew.engine.enqueue()
    claim = crew.engine.claim_one(worker=crew.worker_id)
    with crew.session.transaction():
        crew.session.execute(
            "select * from rolecall.finish_here(%s, %s)", [crew.worker_id, Jsonb([report(claim, "completed")])]
        )

        assert crew.looks() == []


def test_every_login_sees_whose_sessions_stand(crew: Crew) -> None:
    """The server hides the queries of other roles but not the names of their sessions."""
    name = "rolecall_stranger"
    crew.engine.rows(f"drop role if exists {name}")
    crew.engine.connection.execute(SQL("create role {}").format(Identifier(name)))
    query = f"select count(*) filter (where query ~ 'insufficient'), count(*) {STANDING}"
    try:
        crew.engine.rows(f"set role {name}")
        assert crew.engine.rows(query, MARK) == [(1, 1)]
    finally:
        crew.engine.rows("reset role")
        crew.engine.rows(f"drop role {name}")


def test_a_look_writes_nothing_while_all_live(crew: Crew) -> None:
    version = "select xmin::text from rolecall.workers"
    before = crew.engine.rows(version)

    crew.looks()

    assert crew.engine.rows(version) == before


def beside(engine: Engine, space: str = "here", host: str = "host") -> list[tuple[int, int, int]]:
    return engine.rows("select * from rolecall.workers_beside(%s, %s)", host, space)


def test_a_worker_is_found_where_its_pid_means_something(crew: Crew) -> None:
    assert beside(crew.engine) == [(crew.worker_id, 1, 7)]
    assert beside(crew.engine, "another pid namespace") == []
    assert beside(crew.engine, host="another host") == []


def test_a_worker_of_the_release_before_is_at_no_place(engine: Engine) -> None:
    engine.worker()

    assert beside(engine) == []
