"""What the handlers write down beside the engine, by the database's clock: their runs, their effects, their deeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from rolecall import Context

Connection = AsyncConnection[tuple[Any, ...]]

TABLES = """\
create schema chaos;
create table chaos.runs (
    run bigint generated always as identity primary key,
    task_id bigint not null,
    fence int not null,
    step int not null,
    key text,
    pid int not null,
    claimed_at timestamptz,
    started boolean not null,
    parked_rivals int not null,
    began_at timestamptz not null,
    ended_at timestamptz
);
create index on chaos.runs (key, began_at) where ended_at is not null;
create index on chaos.runs (task_id, fence);
create table chaos.effects (task_id bigint not null, fence int not null);
create index on chaos.effects (task_id);
create table chaos.deeds (task_id bigint not null, idempotency_key text not null);
create index on chaos.deeds (task_id);
-- A tick reads the clock for what it notes after it has chosen its slots; when its statement began is no later than the choice.
create table chaos.ticks (run_id bigint primary key, began_at timestamptz not null);
create function chaos.note_tick() returns trigger language plpgsql set search_path = '' as $$
begin
    insert into chaos.ticks values (new.id, statement_timestamp());
    return null;
end
$$;
create trigger note_tick after insert on rolecall.schedule_runs for each row execute function chaos.note_tick();
"""
# A claim is known by its moment: after a crash of the server, the same worker may get the same fence again.
# The clock is read after the snapshot that shows the claim here ...
BEGIN = """\
insert into chaos.runs (task_id, fence, step, key, pid, claimed_at, started, parked_rivals, began_at)
select
    given.id, given.fence, %(step)s, given.key, %(pid)s, task.claimed_at, task.started_at is not null,
    (select count(*) from rolecall.tasks as rival where rival.key = given.key and rival.parked), clock_timestamp()
from (select %(id)s::bigint as id, %(fence)s::int as fence, %(key)s::text as key) as given
left join rolecall.tasks as task on task.id = given.id and task.fence = given.fence and task.state = 'running'
returning run"""
# ... and before it here: what stands between the two was owned throughout.
END = """\
update chaos.runs as run set ended_at = statement_timestamp()
from rolecall.tasks as task
where run.run = %s and task.id = run.task_id and task.fence = run.fence and task.claimed_at = run.claimed_at"""
STARTED = """\
update chaos.runs as run set started = true
from rolecall.tasks as task
where run.run = %s and task.id = run.task_id and task.fence = run.fence and task.claimed_at = run.claimed_at
    and task.started_at is not null
returning true"""
OWNS = """\
select true
from chaos.runs as run
join rolecall.tasks as task using (fence, claimed_at)
where run.run = %s and task.id = run.task_id"""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The book that all handlers of one worker process write in."""

    pool: AsyncConnectionPool[Any]
    pid: int

    async def begin(self, ctx: Context) -> int:
        """Note that a handler began, and under which claim; return the run's number."""
        facts = {"id": ctx.task_id, "fence": ctx.fence, "step": ctx.step, "key": ctx.key, "pid": self.pid}
        (run,) = (await self._write(BEGIN, facts))[0]
        return int(run)

    async def end(self, run: int) -> None:
        """Note that a handler ends, if its claim still owns the task."""
        await self._write(END, (run,))

    async def has_started(self, run: int) -> bool:
        """Note that the engine knows this run as started, which makes it count as an attempt."""
        return bool(await self._write(STARTED, (run,)))

    async def owns(self, run: int) -> bool:
        return bool(await self._write(OWNS, (run,)))

    async def do(self, ctx: Context) -> None:
        """Do what may happen more than once."""
        await self._write("insert into chaos.deeds values (%s, %s)", (ctx.task_id, ctx.idempotency_key))

    async def _write(self, query: str, params: Any) -> list[tuple[Any, ...]]:
        async with self.pool.connection() as connection:
            cursor = await connection.execute(query.encode(), params)
            return await cursor.fetchall() if cursor.description else []


async def pay(tx: Connection, ctx: Context, run: int) -> None:
    """Do, in the handler's own transaction, what must happen once; note there that the handler ends."""
    await tx.execute("insert into chaos.effects values (%s, %s)", (ctx.task_id, ctx.fence))
    await tx.execute(END.encode(), (run,))
