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


def test_worker_with_a_session_is_alive(crew: Crew) -> None:
    assert crew.looks() == []


def test_worker_without_a_session_in_two_checks_is_found(crew: Crew) -> None:
    crew.end_session()

    assert crew.looks() == [crew.worker_id]


def test_one_check_is_not_sufficient(crew: Crew) -> None:
    crew.end_session()

    assert crew.look() == []
    crew.engine.clock.advance(seconds=9)
    assert crew.look() == []


def test_returning_session_restarts_the_proof(crew: Crew) -> None:
    crew.end_session()
    crew.look()
    crew.come_back()
    crew.engine.clock.advance(seconds=20)
    assert crew.look() == []
    crew.end_session()

    assert crew.look() == []


def test_heartbeat_between_the_checks_proves_that_the_worker_is_alive(crew: Crew) -> None:
    crew.end_session()
    crew.look()
    crew.engine.clock.advance(seconds=10)
    crew.engine.rows("select rolecall.beat(%s, 0, false)", crew.worker_id)

    assert crew.look() == []


def test_session_that_runs_a_procedure_belongs_to_its_worker(crew: Crew) -> None:
    """The session can outlive its client, and is named after its task meanwhile."""
    with crew.session.transaction():
        crew.session.execute("select rolecall.name_session(%s, 5)", [crew.worker_id])

        assert crew.looks() == []


def test_server_change_delays_the_proof_by_one_lease(crew: Crew) -> None:
    """Live workers reconnect within a lease."""
    crew.end_session()
    crew.look()
    crew.engine.clock.advance(seconds=10)
    crew.engine.rows("update rolecall.server_epoch set postmaster_started_at = 'epoch'")

    assert crew.look() == []
    assert crew.looks() == []
    crew.engine.clock.advance(seconds=LEASE)
    assert crew.looks() == [crew.worker_id]


def test_server_change_delays_the_proof_by_the_lease_of_held_tasks(crew: Crew) -> None:
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


def test_session_name_set_by_the_dsn_proves_nothing(crew: Crew) -> None:
    """The DSN may set application_name."""
    crew.tell(crew.engine.connection, MARK)
    crew.end_session()

    assert crew.looks() == []


def test_worker_without_a_session_name_is_never_found(crew: Crew) -> None:
    crew.tell(crew.session, None)
    crew.end_session()

    assert crew.looks() == []


def test_unregistered_worker_is_not_checked(crew: Crew) -> None:
    crew.engine.rows("select rolecall.deregister_worker(%s)", crew.worker_id)
    crew.end_session()

    assert crew.looks() == []


@pytest.mark.parametrize("idempotent", [True, False])
def test_unregistered_worker_is_found_while_it_holds_an_idempotent_task(crew: Crew, *, idempotent: bool) -> None:
    crew.engine.declare({"name": "work", "idempotent": idempotent})
    crew.engine.enqueue()
    crew.engine.claim_one(worker=crew.worker_id)
    crew.engine.rows("update rolecall.workers set stopped_at = rolecall.clock()")
    crew.end_session()

    assert crew.looks() == ([crew.worker_id] if idempotent else [])


def test_session_that_completes_a_task_belongs_to_its_worker(crew: Crew) -> None:
    crew.engine.enqueue()
    claim = crew.engine.claim_one(worker=crew.worker_id)
    with crew.session.transaction():
        crew.session.execute(
            "select * from rolecall.finish_here(%s, %s)", [crew.worker_id, Jsonb([report(claim, "completed")])]
        )

        assert crew.looks() == []


def test_every_login_can_see_the_names_of_all_sessions(crew: Crew) -> None:
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


def test_check_writes_nothing_while_all_workers_are_alive(crew: Crew) -> None:
    version = "select xmin::text from rolecall.workers"
    before = crew.engine.rows(version)

    crew.looks()

    assert crew.engine.rows(version) == before


def beside(engine: Engine, space: str = "here", host: str = "host") -> list[tuple[int, int, int]]:
    return engine.rows("select * from rolecall.workers_beside(%s, %s)", host, space)


def test_worker_is_found_on_the_same_host_and_pid_namespace(crew: Crew) -> None:
    assert beside(crew.engine) == [(crew.worker_id, 1, 7)]
    assert beside(crew.engine, "another pid namespace") == []
    assert beside(crew.engine, host="another host") == []


def test_worker_of_the_previous_release_has_no_known_host(engine: Engine) -> None:
    engine.worker()

    assert beside(engine) == []
