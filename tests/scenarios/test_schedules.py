"""Two schedulers, clock changes in spring and autumn, and a database that crashes during a tick."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

from rolecall.db.connect import connect
from rolecall.db.run import run
from rolecall.embedded.process import wait_until
from rolecall.model.schedules import Schedule
from rolecall.sql import roles, schedules
from rolecall.testing import Clock
from tests.scenarios.chaos.server import Server
from tests.scenarios.victims import REPOSITORY

PATIENCE = 60.0
NEW_YORK = "America/New_York"
RULES = {"two": "30 2 * * *", "one": "30 1 * * *", "half": "*/30 * * * *"}
# From one local midnight to another, across a clock change; and the moments of the daily rules.
SPRING = (datetime(2026, 3, 7, 5, tzinfo=UTC), datetime(2026, 3, 10, 4, tzinfo=UTC))
AUTUMN = (datetime(2026, 10, 31, 4, tzinfo=UTC), datetime(2026, 11, 3, 5, tzinfo=UTC))
DAILY = {
    (SPRING, "two"): ["2026-03-07T07:30", "2026-03-08T07:00", "2026-03-09T06:30"],
    (SPRING, "one"): ["2026-03-07T06:30", "2026-03-08T06:30", "2026-03-09T05:30"],
    (AUTUMN, "two"): ["2026-10-31T06:30", "2026-11-01T07:30", "2026-11-02T07:30"],
    (AUTUMN, "one"): ["2026-10-31T05:30", "2026-11-01T05:30", "2026-11-02T06:30"],
}
# Some steps pass many fire times at once, as on a machine that was asleep.
STEPS = (7, 31, 61, 190, 130)
# Blocks a tick halfway while there is a row in `hold`.
HOLD = """\
create table hold (held boolean);
create function wait_while_held() returns trigger language plpgsql as $$
begin
    if exists (select from public.hold) then perform pg_sleep(300); end if;
    return new;
end $$;
create trigger hold before insert on rolecall.schedule_runs for each row execute function public.wait_while_held();
"""
IN_THE_MIDDLE = "select exists (select from pg_stat_activity where wait_event = 'PgSleep')"
SLOTS = """\
select to_timestamp(split_part(dedupe_key, ':', 3)::bigint)
from rolecall.all_tasks join rolecall.schedules as schedule on split_part(dedupe_key, ':', 2)::bigint = schedule.id
where schedule.name = %s order by 1"""

Season = tuple[datetime, datetime]


@contextmanager
def schedulers(dsn: str, number: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(number):
            command = [sys.executable, "-m", "tests.scenarios.ticker", dsn]
            process = subprocess.Popen(command, cwd=REPOSITORY, env=os.environ | {"PYTHONPATH": "src:."})
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


class World:
    """The server, whose clock the test moves, and the runs that the schedulers have recorded."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.clock = Clock(server.superuser_dsn)
        self.ask(HOLD)

    def ask(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.server.ask_until_answered(query, params or None)

    def plan(self, season: Season) -> None:
        """Begin a season with schedules of its own."""
        self.clock.set(season[0])
        with connect(self.server.dsn, "plan") as connection:
            run(connection, roles.declare([{"name": "work"}], []))
            for name, cron in RULES.items():
                rule = Schedule(name=f"{season[0]:%b} {name}", role="work", cron=cron, zone=NEW_YORK, misfire="all")
                run(connection, schedules.put(rule))
            hourly = Schedule(name=f"{season[0]:%b} hour", role="work", every=3600, misfire="all")
            run(connection, schedules.put(hourly))

    def pass_through(self, season: Season, *, crash_at: datetime) -> None:
        """Move the clock from one end of the season to the other. The server crashes in the tick after `crash_at`."""
        steps, crashed = cycle(STEPS), False
        while (now := self.clock.now()) < season[1]:
            moment = min(now + timedelta(minutes=next(steps)), season[1] - timedelta(minutes=1))
            if moment >= crash_at and not crashed:
                crashed = True
                self._crash_in_a_tick(moment)
            self.clock.set(moment)
            self._until_all_is_fired(moment)
            if moment == season[1] - timedelta(minutes=1):
                return

    def forget(self, season: Season) -> None:
        self.ask("update rolecall.schedules set enabled = false where name like %s", f"{season[0]:%b} %")

    def slots(self, season: Season, name: str) -> list[datetime]:
        return [slot for (slot,) in self.ask(SLOTS, f"{season[0]:%b} {name}")]

    def _crash_in_a_tick(self, moment: datetime) -> None:
        self.ask("insert into hold values (true)")
        self.clock.set(moment)
        assert wait_until(lambda: bool(self.ask(IN_THE_MIDDLE)[0][0]), PATIENCE)
        self.server.crash()
        self.ask("truncate hold")

    def _until_all_is_fired(self, moment: datetime) -> None:
        due = "select count(*) from rolecall.schedules where enabled and next_run_at <= %s"
        assert wait_until(lambda: self.ask(due, moment)[0][0] == 0, PATIENCE)


def every(season: Season, minutes: int) -> list[datetime]:
    first, last = season
    return [first + timedelta(minutes=n) for n in range(0, int((last - first).total_seconds() // 60), minutes)]


def test_each_due_run_happens_once_through_clock_changes_and_a_database_crash(tmp_path: Path) -> None:
    """Two processes tick, and no run is missing or doubled."""
    with Server(tmp_path).running() as server, schedulers(server.dsn, 2):
        world = World(server)
        for season, crash_at in ((SPRING, datetime(2026, 3, 8, 6, 40, tzinfo=UTC)), (AUTUMN, AUTUMN[0])):
            world.plan(season)
            world.pass_through(season, crash_at=crash_at)

            for name in ("two", "one"):
                meant = [datetime.fromisoformat(f"{moment}:00+00:00") for moment in DAILY[season, name]]
                assert world.slots(season, name) == meant
            assert world.slots(season, "hour") == every(season, 60)
            assert world.slots(season, "half") == every(season, 30)
            world.forget(season)
        assert world.ask("select distinct outcome, missed from rolecall.schedule_runs") == [("enqueued", 0)]
