"""Runs the steps of several sessions in every order, like the isolation tester of Postgres.

    order 0 1 0     session 0   opening(claim)              commit
                    session 1                   finish ~~~~~~~~~~~~ answer

A step that waits for a lock does not delay the others. A step of a session that still waits is run as soon as
the session is free. At the end the invariants must hold and every session must be free.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import permutations

import psycopg

from tests.sql.engine import WORK, Engine
from tests.sql.invariants import check

Step = Callable[[Engine], object]

DEADLINE = 20.0


class Actor:
    """A session with its own thread, which runs one step after another."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.steps: list[Future[object]] = []
        self._thread = ThreadPoolExecutor(1)

    def take(self, step: Step) -> None:
        self.steps.append(self._thread.submit(_answer, step, self.engine))

    def answers(self) -> list[object]:
        done = [step.result(timeout=DEADLINE) for step in self.steps]
        self.steps.clear()
        return done

    def has_run(self) -> bool:
        return all(step.done() for step in self.steps)


class Play:
    """One order of the sessions' steps, on an empty pool."""

    def __init__(self, engine: Engine, actors: Sequence[Actor], order: Sequence[int]) -> None:
        self.order = order
        self.engine = engine
        self.waited: set[int] = set()
        self._actors = actors

    def run(self, *scripts: Sequence[Step]) -> list[list[object]]:
        """Run all steps; return each session's answers, including database errors."""
        remaining = [list(script) for script in scripts]
        for number in self.order:
            self._actors[number].take(remaining[number].pop(0))
            self._until_quiet()
        answers = [actor.answers() for actor in self._actors]
        check(self.engine)
        return answers

    def _until_quiet(self) -> None:
        """Return when every step has run or waits for another session."""
        deadline = time.monotonic() + DEADLINE
        busy = self._busy()
        while busy and not busy <= self._waiting():
            assert time.monotonic() < deadline, f"order {self.order}: neither done nor waiting"
            time.sleep(0.001)
            busy = self._busy()
        self.waited |= busy

    def _busy(self) -> set[int]:
        return {number for number, actor in enumerate(self._actors) if not actor.has_run()}

    def _waiting(self) -> set[int]:
        pids = [actor.engine.connection.info.backend_pid for actor in self._actors]
        query = "select n - 1 from unnest(%s::int[]) with ordinality as p (pid, n) where pg_blocking_pids(pid) <> '{}'"
        return {number for (number,) in self.engine.rows(query, pids)}


class Stage:
    """Runs plays: empties the database before each, and provides a session for each script."""

    def __init__(self, engine: Engine, open_session: Callable[[], Engine], empty: Callable[[], None]) -> None:
        self.engine = engine
        self._open_session = open_session
        self._empty = empty

    def orders(self, *lengths: int) -> Iterator[Play]:
        """Yield a play for each order of sessions with these numbers of steps."""
        actors = [Actor(self._open_session()) for _ in lengths]
        turns = [number for number, length in enumerate(lengths) for _ in range(length)]
        for order in sorted(set(permutations(turns))):
            self._empty()
            self.engine.declare(WORK)
            yield Play(self.engine, actors, order)


def opening(step: Step) -> Step:
    """Return a step that begins the transaction it runs in."""

    def begin_and_run(engine: Engine) -> object:
        engine.rows("begin")
        return step(engine)

    return begin_and_run


def commit(engine: Engine) -> None:
    engine.rows("commit")


def rollback(engine: Engine) -> None:
    engine.rows("rollback")


def _answer(step: Step, engine: Engine) -> object:
    try:
        return step(engine)
    except psycopg.Error as error:
        return error
