"""The chaos soak: real workers under load while they, their connections and their server are killed.

`python -m tests.scenarios.chaos.soak --seconds 600 --seed 7` runs one by hand.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rolecall.db.connect import connect
from rolecall.db.embedded.waiting import wait_until
from rolecall.db.run import run
from rolecall.sql import roles
from tests.scenarios.chaos import checker, evidence, logs, steady
from tests.scenarios.chaos.crew import Crew
from tests.scenarios.chaos.faults import Faults, Plan
from tests.scenarios.chaos.proxy import Proxy
from tests.scenarios.chaos.server import Server
from tests.scenarios.chaos.workload import make_app

TURN = 0.05
MOST_SHOWN = 20
LOOK_EVERY = 2.5
SECONDS_A_ROUND = 10.0
WARM_UP_SECONDS = 60.0
# What must have happened for a soak to prove anything.
REQUIRED = (
    "lost", "already", "takeovers", "rescued", "parked", "retried", "poison failed", "ticks",
    "gathered", "inherited", "disinherited", "chained", "insisted", "shared", "ran once", "ordered", "merged", "changed",
    "kill", "freeze", "cut", "mute", "crash", "bereave", "behead", "migrate",
)  # fmt: skip
SCHEDULE = """\
select rolecall.put_schedule(jsonb_build_object(
    'name', 'tick', 'handler', 'tick', 'every', 1, 'enabled', %s::boolean, 'first_run_at', date_trunc('second', now())
))"""


SET_CAPACITY = "select rolecall.set_key_capacity(%s, %s)"
FINISHED = "select count(*) from rolecall.finished_tasks"
PARKED = "select count(*) from rolecall.tasks where parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How long and how hard; a drain fails when nothing has ended for `stall` seconds.

    On a machine too slow for all faults to bite it goes on for some `rounds`. It ends as soon as what was found is `enough`.
    """

    seconds: float = 26.0
    seed: int = 7
    workers: int = 3
    producers: int = 2
    stall: float = 30.0
    rounds: int = 4
    tell: Callable[[str], None] = print
    sabotage: Callable[[Server], None] | None = None
    enough: Callable[[list[str]], bool] | None = None
    without: tuple[str, ...] = ()


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Report:
    """What a soak came to."""

    figures: dict[str, int]
    violations: list[str]

    @property
    def missing(self) -> list[str]:
        return missing_in(self.figures)


def missing_in(figures: dict[str, int]) -> list[str]:
    """Return what never happened, so that the laws were not put to the test."""
    return [name for name in REQUIRED if not figures.get(name)]


class Soak:
    """One run in a folder of its own: rage, drain, judge."""

    def __init__(self, folder: Path, options: Options) -> None:
        self._folder = folder
        self._options = options
        self._chance = random.Random(options.seed)
        self._began = time.monotonic()
        self._server = Server(folder / "data")
        self._parked = 0
        self._enough = False

    def run(self) -> Report:
        """Return what happened and what must not have happened; raises only where no soak was possible."""
        options = self._options
        with self._server.running() as server:
            self._declare()
            if options.sabotage is not None:
                options.sabotage(server)
            with Proxy(server.dsn).relaying() as proxy:
                crew = Crew(server.dsn, proxy.dsn, self._folder, chance=self._chance, sessions=server.sessions)
                faults = Faults(server, proxy, crew, chance=self._chance, tell=self._tell)
                with crew.working(options.workers, options.producers):
                    self._rage(crew, faults)
                    if not self._enough:
                        self._drain(crew)
                        crew.stop_workers()
            return self._judge(crew, faults)

    def _declare(self) -> None:
        with connect(self._server.dsn, "soak") as connection:
            run(connection, roles.declare(*make_app().declaration()))
        for key, capacity in steady.CAPACITIES.items():
            self._server.insist(SET_CAPACITY, (f"{key}-*", capacity))
        self._server.insist(SCHEDULE, (True,))

    def _rage(self, crew: Crew, faults: Faults) -> None:
        """Let work begin, and carry the plan out; go on for some rounds for want of what must happen."""
        wait_until(lambda: self._server.number(FINISHED) > 0, WARM_UP_SECONDS)
        self._carry_out(self._options.seconds, crew, faults)
        for _ in range(self._options.rounds):
            missing = missing_in(self._figures(crew, faults))
            if self._enough or not missing:
                break
            self._tell(f"going on for want of {', '.join(missing)}")
            self._carry_out(SECONDS_A_ROUND, crew, faults)

    def _carry_out(self, seconds: float, crew: Crew, faults: Faults) -> None:
        plan = Plan(self._chance, without=self._options.without)
        began = time.monotonic()
        looked = 0.0
        while (now := time.monotonic() - began) < seconds and not self._enough:
            self._turn(crew, faults)
            for kind in plan.due(now):
                plan.put_off(kind, now, done=faults.do(kind))
            if now > looked + LOOK_EVERY:
                looked = now
                self._look(faults)
        faults.thaw(everybody=True)

    def _look(self, faults: Faults) -> None:
        """Note what is seen in passing only, and whether enough is found already."""
        self._parked = max(self._parked, self._server.number(PARKED))
        if self._options.enough is not None:
            notes = evidence.read_notes(self._folder)
            evidence.lay_down(self._server, self._folder, faults.blows)
            found = checker.violations(self._server, notes, at_end=False) + list(self._server.unexpected_errors())
            self._enough = self._options.enough(found)

    def _turn(self, crew: Crew, faults: Faults) -> None:
        crew.tend()
        faults.thaw()
        time.sleep(TURN)

    def _drain(self, crew: Crew) -> None:
        """Let the workers end what is open; give up when nothing has ended for a while."""
        crew.disarm()
        crew.stop_producers()
        self._server.insist(SCHEDULE, (False,))
        least, moved = self._open(), time.monotonic()
        self._tell(f"draining {least} tasks")
        while least and time.monotonic() - moved < self._options.stall:
            crew.tend()
            time.sleep(TURN)
            left = self._open()
            if left < least:
                least, moved = left, time.monotonic()

    def _open(self) -> int:
        return self._server.number("select count(*) from rolecall.tasks")

    def _judge(self, crew: Crew, faults: Faults) -> Report:
        figures = self._figures(crew, faults)
        said = self._server.unexpected_errors() + logs.read(self._folder).odd
        odd = [f"{text} ({times} times)" for text, times in said.most_common()]
        found = checker.violations(self._server, evidence.read_notes(self._folder)) + crew.odd_ends + odd
        return Report(figures, found)

    def _figures(self, crew: Crew, faults: Faults) -> dict[str, int]:
        said = logs.read(self._folder)
        notes = evidence.read_notes(self._folder)
        evidence.lay_down(self._server, self._folder, faults.blows)
        told = {
            "lost": said.lost,
            "already": said.already,
            "unanswered enqueues": notes.unanswered,
            "parked": self._parked,
        }
        return told | checker.bites(self._server) | faults.done | {"worker deaths": crew.deaths}

    def _tell(self, text: str) -> None:
        self._options.tell(f"{time.monotonic() - self._began:6.1f} s  {text}")


def soak(options: Options, folder: Path) -> Report:
    """Run one soak and tell what it came to."""
    report = Soak(folder, options).run()
    options.tell(", ".join(f"{name} {number}" for name, number in report.figures.items()))
    for violation in report.violations[:MOST_SHOWN]:
        options.tell(f"VIOLATION {violation}")
    if len(report.violations) > MOST_SHOWN:
        options.tell(f"... and {len(report.violations) - MOST_SHOWN} violations more")
    if report.missing:
        options.tell(f"VACUOUS: no {', no '.join(report.missing)}")
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=DEFAULTS.seconds)
    parser.add_argument("--seed", type=int, default=DEFAULTS.seed)
    parser.add_argument("--workers", type=int, default=DEFAULTS.workers)
    parser.add_argument("--folder", type=Path, help="keep database, logs and acknowledgements here")
    given = parser.parse_args()
    options = Options(seconds=given.seconds, seed=given.seed, workers=given.workers)
    with tempfile.TemporaryDirectory() as temporary:
        report = soak(options, given.folder or Path(temporary))
    return bool(report.violations or report.missing)


if __name__ == "__main__":
    sys.exit(main())
