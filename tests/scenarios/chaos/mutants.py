"""Proves that the checker finds bugs: breaks the engine in known ways, one per soak, and expects a violation.

Each commit runs one of them in turn. `python -m tests.scenarios.chaos.mutants [--seed N] [NAME ...]` runs all, or
the named ones.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.scenarios.chaos.faults import EVERY
from tests.scenarios.chaos.member import REPOSITORY
from tests.scenarios.chaos.server import DATABASE, Server
from tests.scenarios.chaos.soak import DEFAULTS, Options, soak

# By the soak's own clock, and by the wall clock.
SECONDS, LONGEST = 30.0, 120.0
# A migration stores the functions again, which would repair them.
HEALING = ("migrate",)
MOST_SHOWN = 6
SOURCE = "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'rolecall'::regnamespace and proname = %s"
OWNED = " and task.fence = report.fence and (task.worker_id = p_worker_id) is true"
LOCKED = "placed.id in (select mine.id from mine)"
# Simulates a slow machine at this point: a race that is lost once an hour is lost within seconds.
PAUSE = "(select random() from pg_sleep(0.03))"


@dataclass(frozen=True, slots=True)
class Change:
    """A replacement in the text of one function."""

    function: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A seeded bug, and a pattern for the checker's report of it.

    `prepare` sets up a database in which the bug matters, `callers` is the number of HTTP callers, and with `severs` the
    soak first refuses connections. `faults` are the only kinds that happen, if a bug shows itself only after some.
    """

    name: str
    tells: str
    changes: tuple[Change, ...]
    prepare: str = "select"
    callers: int = 0
    severs: bool = False
    faults: tuple[str, ...] = tuple(EVERY)


MUTANTS = (
    Mutant(
        "no session is taken for a proof",
        "a task began again during a run",
        (Change("harmless_claims", "role.idempotent and task.key is null", "true"),),
        severs=True,
    ),
    Mutant(
        "finish without fence",
        "an older claim than the newest has completed a task",
        (Change("complete_tasks", OWNED, ""),),
        faults=("delay", "freeze"),
        severs=True,
    ),
    Mutant(
        "park without key lock",
        # The safety net brings back lost tasks once a minute.
        "a task has not finished|a task is parked although its key has free capacity|23505",
        (
            Change("lock_keys", "for update skip locked", ""),
            Change("park_losers", "set parked = true", f"set parked = {PAUSE} > 0"),
        ),
    ),
    Mutant(
        "a key does not lock",
        "more tasks of a key ran at once than its capacity allows",
        (
            Change("room_of_keys", "when cardinality(holder.slots) >= room.capacity then '{}'", ""),
            Change("give_tasks", "picked.slot)", "picked.slot + (random() * 30000)::smallint)"),
        ),
    ),
    Mutant(
        "a claim goes past a locked task of its key",
        "a task of a key began before an older one",
        (
            Change("win_keys", f"bool_and({LOCKED}) over (\n{' ' * 16}partition by placed.key order by placed.turn\n{' ' * 12})", LOCKED),
            Change("settle_keys", "except select unnest(p_full)", "except select unnest(p_full) from pg_sleep(random() * 0.05)"),
        ),
    ),
    Mutant(
        "crashes cost no attempt",
        "a task had more attempts than allowed",
        (Change("decide_after_attempt", "when 'crashed' then", "when 'crashed' then false and"),),
    ),
    Mutant(
        "keys are not freed",
        "a key is held or has parked tasks after the end|a task is parked although its key has free capacity",
        (Change("unpark_heads", "if p_keys is null then", "if true then"),),
    ),
    Mutant(
        "schedules fire without lock",
        "a fire time has two tasks",
        (
            Change("fire_schedules", "for update skip locked", ""),
            Change("run_schedule", "p_schedule.id, v_slot)", f"p_schedule.id, v_slot || ':' || {PAUSE})"),
        ),
    ),
    Mutant(
        "a parent gathers with its first child",
        "a parent (gathered|ended) before its last child",
        (Change("conclude", "task.open_children = ended.number", "task.open_children >= ended.number"),),
    ),
    Mutant(
        "a request is carried out again",
        "a request was carried out partly or twice",
        (Change("take_request", "if v_kept.answered_at <= ", "if true or v_kept.answered_at <= "),),
        callers=1,
    ),
    Mutant(
        "commits do not wait for the disk",
        "an acknowledged task is lost",
        (Change("require_durability", "current_setting('synchronous_commit') <> 'off'", "true"),),
        # Set as the default, because any synchronous commit would also flush the earlier ones.
        prepare=f"alter database {DATABASE} set synchronous_commit = off",
    ),
)  # fmt: skip


def seed(mutant: Mutant, server: Server) -> None:
    """Break the engine in this database. Raises ValueError if the engine no longer contains the text to replace."""
    server.ask_until_answered(mutant.prepare)
    for change in mutant.changes:
        source = str(server.ask_until_answered(SOURCE, (change.function,))[0][0])
        if change.old not in source:
            raise ValueError(f"{change.function} no longer says {change.old!r}: adapt the mutant {mutant.name!r}")
        server.ask_until_answered(source.replace(change.old, change.new))


def finds_mutant(mutant: Mutant, seed_number: int = DEFAULTS.seed, tell: Callable[[str], None] = print) -> bool:
    """Run a soak of the broken engine until the checker reports the bug, or to its end. Return whether it did."""
    tell(f"--- {mutant.name}, seed {seed_number}")

    def is_reported(found: list[str]) -> bool:
        return any(re.match(mutant.tells, violation) for violation in found)

    options = Options(
        seconds=SECONDS,
        seed=seed_number,
        longest=LONGEST,
        required={},
        supervisors=0,
        dispatchers=0,
        callers=mutant.callers,
        severs=mutant.severs,
        stall=12,
        sabotage=partial(seed, mutant),
        enough=is_reported,
        without=(*HEALING, *(EVERY.keys() - mutant.faults)),
        tell=lambda text: None,
    )
    with tempfile.TemporaryDirectory() as folder:
        report = soak(options, Path(folder))
    for violation in report.violations[:MOST_SHOWN]:
        tell(f"  {violation[:200]}")
    return is_reported(report.violations)


def turn() -> int:
    """Return the number that selects the mutant: the same for a commit on every machine. Without a repository, it changes daily."""
    count = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return int(count.stdout) if count.returncode == 0 else datetime.now(tz=UTC).toordinal()


def main(tell: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=DEFAULTS.seed)
    parser.add_argument("names", metavar="NAME", nargs="*", choices=[[], *(mutant.name for mutant in MUTANTS)])
    given = parser.parse_args()
    missed = 0
    for mutant in MUTANTS:
        if not given.names or mutant.name in given.names:
            began = time.monotonic()
            seen = finds_mutant(mutant, given.seed, tell)
            tell(f"{'found' if seen else 'MISSED'} after {time.monotonic() - began:.0f} s: {mutant.name}")
            missed += not seen
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
