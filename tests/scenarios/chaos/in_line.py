"""Handlers whose tasks share a key to keep their order, and the laws of that order.

All tasks of such a key are enqueued by one producer, batch after batch, with one priority. They must start and be
stored in the order of their ids.
"""

from __future__ import annotations

from rolecall import App, Context
from tests.scenarios.chaos.ledger import Ledger

KEY = "line-{}"
HANDLERS = ("step", "seal")
# A task that was claimed once was neither returned nor retried.
BEGUN_TOO_EARLY = """\
with begun as (
    select key, task_id, min(began_at) as began_at from chaos.runs where key like 'line-%%' group by key, task_id
)
select older.key, older.task_id, older.began_at, younger.task_id, younger.began_at
from begun as older
join begun as younger on younger.key = older.key and younger.task_id > older.task_id
    and younger.began_at < older.began_at
join rolecall.all_tasks as task on task.id = older.task_id
where task.fence = 1"""
# A task that was lost with a third worker, or whose attempt failed, waits for its retry, and others may overtake it.
# Each loss uses two fences.
STORED_TOO_EARLY = """\
select older.id, older.finished_at, younger.id, younger.finished_at
from rolecall.all_tasks as older
join chaos.runs as ended on ended.task_id = older.id and ended.ended_at is not null
join chaos.runs as run on run.key = ended.key and run.task_id > older.id and run.began_at > ended.ended_at
join rolecall.all_tasks as younger on younger.id = run.task_id and younger.fence = run.fence
where older.key like 'line-%%' and older.state = 'completed' and younger.state = 'completed' and older.fence <= 4
    and younger.finished_at < older.finished_at
    and not exists (select from rolecall.task_events as event where event.task_id = older.id and event.kind = 'error')"""


def add_handlers(app: App, role: str, ledger: Ledger) -> None:
    @app.task(role=role)
    async def step(ctx: Context) -> dict[str, int]:
        """Finish immediately; the worker stores the outcome."""
        ledger.end(ledger.begin(ctx))
        return {"fence": ctx.fence}

    @app.task(role=role)
    async def seal(ctx: Context) -> None:
        """Finish in a transaction of its own."""
        run = ledger.begin(ctx)
        async with ctx.transaction() as tx:
            ledger.end(run)
            await ctx.complete(tx, {"fence": ctx.fence})
