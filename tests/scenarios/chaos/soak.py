"""The chaos soak: real workers under load while they, their connections and their server are killed.

`python -m tests.scenarios.chaos.soak --seconds 600 --seed 7` runs one by hand.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from rolecall.db.connect import connect
from rolecall.db.run import run
from rolecall.embedded.binaries import VARIABLE
from rolecall.embedded.process import wait_until
from rolecall.sql import roles
from tests.brokers import redis
from tests.scenarios.chaos import checker, evidence, logs, refusal, severed, steady
from tests.scenarios.chaos.crew import Crew
from tests.scenarios.chaos.faults import REDIS_FAULTS, Faults, Plan
from tests.scenarios.chaos.pace import Pace
from tests.scenarios.chaos.proxy import Proxy
from tests.scenarios.chaos.server import Server
from tests.scenarios.chaos.workload import make_app
from tools import servers

TURN = 0.05
MOST_SHOWN = 20
LOOK_EVERY = 2.5
WARM_UP_SECONDS = 60.0
# A soak started by hand can last this many times its `--seconds` on a machine that is too slow for its pace.
MOST_SLOWED = 3.0
# How often each event must happen for a soak to prove anything.
REQUIRED: Mapping[str, int] = MappingProxyType({
    "tasks": 300, "takeovers": 3, "rescued": 5, "parked": 5, "retried": 3, "poison failed": 1, "ticks": 5,
    "lost": 1, "already": 1, "gathered": 2, "inherited": 2, "disinherited": 1, "chained": 2, "insisted": 1, "shared": 2,
    "ran once": 1, "in line": 20, "kept back": 1, "ordered": 2, "asked": 3, "broken requests": 1, "merged": 1, "changed": 2,
    "kill": 3, "freeze": 2, "cut": 5, "lose_answers": 2, "crash": 2, "kill_producer": 1, "kill_supervisor": 1,
    "kill_api": 2, "migrated": 1, "read_only": 1, "expired": 1, "brief": 1, "crunched": 1,
    "severed": 1, "handed over": 3, "flush": 2, "restart_redis": 1, "kill_dispatcher": 1,
})  # fmt: skip
# There are several schedules, so that firing them takes a while and two schedulers can collide.
SCHEDULES = """\
select rolecall.put_schedule(jsonb_build_object(
    'name', 'tick ' || number, 'handler', 'tick', 'every', 1, 'enabled', %s::boolean, 'first_run_at', date_trunc('second', now())
))
from generate_series(1, 4) as number"""


SET_CAPACITY = "select rolecall.set_key_capacity(%s, %s)"
FINISHED = "select count(*) from rolecall.finished_tasks"
PARKED = "select count(*) from rolecall.tasks where parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The length and load of a soak. Draining fails when no task has finished for `stall` seconds.

    A soak takes `seconds` of its own clock (`Pace`), and until all `required` events have happened, but at most
    `longest` seconds of the wall clock. It ends early as soon as the findings match `enough`.
    """

    seconds: float = 20.0
    longest: float = 450.0
    required: Mapping[str, int] = field(default_factory=lambda: REQUIRED)
    seed: int = 7
    workers: int = 3
    producers: int = 2
    supervisors: int = 1
    callers: int = 1
    dispatchers: int = 1
    stall: float = severed.LEASE + 30.0
    tell: Callable[[str], None] = print
    sabotage: Callable[[Server], None] | None = None
    enough: Callable[[list[str]], bool] | None = None
    without: tuple[str, ...] = ()
    severs: bool = True


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a soak. The `missing` events did not happen often enough to test the laws."""

    figures: dict[str, int]
    violations: list[str]
    missing: list[str]


class Soak:
    """One run in a folder of its own: faults, draining, judgment."""

    def __init__(self, folder: Path, options: Options) -> None:
        self._folder = folder
        self._options = options
        self._chance = random.Random(options.seed)
        self._began = time.monotonic()
        self._server = Server(folder / "data")
        self._parked = 0
        self._enough = False
        self._severed = 0
        self._missing: list[str] = []

    def run(self) -> Report:
        """Return the events and the violations. Raises only if no soak was possible."""
        options = self._options
        with self._server.running() as server, redis() as broker:
            self._declare()
            if options.sabotage is not None:
                options.sabotage(server)
            with Proxy(server.dsn).relaying() as proxy:
                handed_by = broker.url if options.dispatchers else None
                crew = Crew(
                    server.dsn, proxy.dsn, self._folder, chance=self._chance, sessions=server.sessions, redis=handed_by
                )
                faults = Faults(server, proxy, crew, broker, chance=self._chance, tell=self._tell)
                staff = (options.workers, options.producers, options.supervisors, options.callers, options.dispatchers)
                with crew.working(*staff):
                    if options.severs:
                        self._sever(proxy, crew)
                    self._inject_faults(crew, faults)
                    if not self._enough:
                        self._drain(crew)
                        crew.stop_workers()
            return self._judge(crew, faults)

    def _declare(self) -> None:
        with connect(self._server.dsn, "soak") as connection:
            run(connection, roles.declare(*make_app().declaration()))
        for key, capacity in steady.CAPACITIES.items():
            self._server.ask_until_answered(SET_CAPACITY, (f"{key}-*", capacity))
        self._server.ask_until_answered(SCHEDULES, (True,))

    def _sever(self, proxy: Proxy, crew: Crew) -> None:
        wait_until(lambda: self._server.number(FINISHED) > 0, WARM_UP_SECONDS)
        self._severed = refusal.sever(self._server, proxy, crew, crew.replace_dead)
        self._tell(f"severed: {self._severed} handlers went on without the database for {severed.REFUSED_SECONDS:g} s")

    def _inject_faults(self, crew: Crew, faults: Faults) -> None:
        """Start the work, and carry out the plan until enough has happened."""
        wait_until(lambda: self._server.number(FINISHED) > 0, WARM_UP_SECONDS)
        without = {*self._options.without, *(() if self._options.dispatchers else REDIS_FAULTS)}
        plan = Plan(self._chance, without=without)
        pace = Pace(partial(evidence.count_runs, self._folder))
        began = looked = time.monotonic()
        while not self._enough and time.monotonic() < began + self._options.longest:
            self._turn(crew, faults)
            now = pace.seconds()
            for kind in plan.due(now):
                plan.schedule_next(kind, now, done=faults.do(kind))
            if time.monotonic() > looked + LOOK_EVERY:
                looked = time.monotonic()
                self._parked = max(self._parked, self._server.number(PARKED))
                self._enough = self._has_found_enough(faults)
                if now > self._options.seconds and self._has_seen_enough(crew, faults):
                    break
        faults.release(everybody=True)

    def _has_found_enough(self, faults: Faults) -> bool:
        if self._options.enough is None:
            return False
        notes = evidence.read_notes(self._folder)
        evidence.store_runs(self._server, self._folder, faults.record)
        found = checker.violations(self._server, notes, at_end=False) + list(self._server.unexpected_errors())
        return self._options.enough(found)

    def _has_seen_enough(self, crew: Crew, faults: Faults) -> bool:
        missing = self._missing_in(self._figures(crew, faults))
        if missing and missing != self._missing:
            self._tell(f"going on for want of {', '.join(missing)}")
        self._missing = missing
        return not missing

    def _missing_in(self, figures: Mapping[str, int]) -> list[str]:
        return [name for name, number in self._options.required.items() if figures.get(name, 0) < number]

    def _turn(self, crew: Crew, faults: Faults) -> None:
        crew.replace_dead()
        faults.release()
        time.sleep(TURN)

    def _drain(self, crew: Crew) -> None:
        """Wait until the workers have finished the open tasks. Give up when no task has finished for a while."""
        crew.disarm()
        crew.stop_producers()
        self._server.ask_until_answered(SCHEDULES, (False,))
        least, moved = self._open(), time.monotonic()
        self._tell(f"draining {least} tasks")
        while least and time.monotonic() - moved < self._options.stall:
            crew.replace_dead()
            time.sleep(TURN)
            left = self._open()
            if left < least:
                least, moved = left, time.monotonic()

    def _open(self) -> int:
        return self._server.number("select count(*) from rolecall.tasks")

    def _judge(self, crew: Crew, faults: Faults) -> Report:
        figures = self._figures(crew, faults)
        output = self._server.unexpected_errors() + logs.read(self._folder).odd
        odd = [f"{text} ({times} times)" for text, times in output.most_common()]
        found = checker.violations(self._server, evidence.read_notes(self._folder)) + crew.unexpected_exits + odd
        return Report(figures, found, self._missing_in(figures))

    def _figures(self, crew: Crew, faults: Faults) -> dict[str, int]:
        output = logs.read(self._folder)
        notes = evidence.read_notes(self._folder)
        evidence.store_runs(self._server, self._folder, faults.record)
        result = {
            "lost": output.lost,
            "already": output.already,
            "kept back": output.kept_back,
            "handed over": output.handed_over,
            "unanswered enqueues": notes.unanswered,
            "broken requests": notes.broken,
            "parked": self._parked,
            "severed": self._severed,
        }
        return (
            result
            | checker.count_effects(self._server)
            | faults.done
            | {"worker deaths": crew.deaths, "migrated": crew.migrated}
        )

    def _tell(self, text: str) -> None:
        self._options.tell(f"{time.monotonic() - self._began:6.1f} s  {text}")


def soak(options: Options, folder: Path) -> Report:
    """Run one soak and report its findings."""
    report = Soak(folder, options).run()
    options.tell(", ".join(f"{name} {number}" for name, number in report.figures.items()))
    for violation in report.violations[:MOST_SHOWN]:
        options.tell(f"VIOLATION {violation}")
    if len(report.violations) > MOST_SHOWN:
        options.tell(f"... and {len(report.violations) - MOST_SHOWN} violations more")
    if report.missing:
        options.tell(f"VACUOUS: too little of {', '.join(report.missing)}")
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=DEFAULTS.seconds)
    parser.add_argument("--seed", type=int, default=DEFAULTS.seed)
    parser.add_argument("--workers", type=int, default=DEFAULTS.workers)
    parser.add_argument("--folder", type=Path, help="keep database, logs and acknowledgements here")
    parser.add_argument("--debian", action="store_true", help="use Debian's Postgres instead of the embedded one")
    given = parser.parse_args()
    if given.debian:
        _use_debian()
    longest = max(DEFAULTS.longest, MOST_SLOWED * given.seconds)
    options = Options(seconds=given.seconds, longest=longest, seed=given.seed, workers=given.workers)
    with tempfile.TemporaryDirectory() as temporary:
        report = soak(options, given.folder or Path(temporary))
    return bool(report.violations or report.missing)


def _use_debian() -> None:
    found = servers.find()
    if found is None:
        sys.exit("Debian's Postgres is not installed: run ./dev servers")
    os.environ[VARIABLE] = str(found.postgres)


if __name__ == "__main__":
    sys.exit(main())
