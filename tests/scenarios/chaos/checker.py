"""Judges a soak by what it left behind: the acknowledged ids, the task tables, the handlers' own tables.

It calls nothing of the engine.
"""

from __future__ import annotations

from pathlib import Path

from tests.scenarios.chaos.server import Server

MOST_SHOWN = 5

# Each law is a query for those who broke it.
LAWS = {
    "an acknowledged task is lost": """
        select acked.id from unnest(%(acked)s::bigint[]) as acked (id)
        where not exists (select from rolecall.all_tasks as task where task.id = acked.id)""",
    "a task has not ended": """
        select id, handler, status, attempt, fence, key from rolecall.all_tasks
        where state not in ('completed', 'failed', 'cancelled')""",
    "a task has ended twice, or ended and is open": """
        select id, count(*) from rolecall.all_tasks group by id having count(*) > 1""",
    "a completed task has not exactly one effect": """
        select task.id, task.handler, count(effect)
        from rolecall.all_tasks as task
        left join chaos.effects as effect on effect.task_id = task.id
        where task.state = 'completed' and task.handler in ('settle', 'linger')
        group by 1, 2 having count(effect) <> 1""",
    "there is an effect without a completion": """
        select effect.task_id, task.state
        from chaos.effects as effect
        left join rolecall.all_tasks as task on task.id = effect.task_id
        where (task.state = 'completed') is not true""",
    "a completed task has no deed": """
        select id, handler from rolecall.all_tasks as task
        where state = 'completed' and handler not in ('settle', 'linger')
            and not exists (select from chaos.deeds as deed where deed.task_id = task.id)""",
    "an older claim than the newest has completed a task": """
        select task.id, task.handler, task.fence, task.result, effect.fence, newest.fence
        from rolecall.all_tasks as task
        left join chaos.effects as effect on effect.task_id = task.id
        left join lateral (
            select max(run.fence) as fence from chaos.runs as run where run.task_id = task.id
        ) as newest on true
        where task.state = 'completed' and (
            (task.result ->> 'fence')::int is distinct from task.fence
            or coalesce(effect.fence, task.fence) <> task.fence or newest.fence > task.fence
        )""",
    "two tasks of one key ran at once": """
        select one.key, one.task_id, other.task_id, one.ended_at - other.began_at
        from chaos.runs as one
        join chaos.runs as other on other.key = one.key and other.task_id <> one.task_id
            and other.began_at >= one.began_at and other.began_at < one.ended_at
        where one.ended_at is not null and other.ended_at is not null""",
    "a task was tried more often than it may be": """
        select task.id, task.handler, task.attempt, task.max_attempts, tried.times
        from rolecall.all_tasks as task
        left join lateral (
            select
                (select count(distinct run.fence) from chaos.runs as run where run.task_id = task.id and run.started)
                - (select count(*) from rolecall.task_events as event
                    where event.task_id = task.id and event.kind in ('snoozed', 'shutdown')) as times
        ) as tried on true
        where task.attempt > task.max_attempts or tried.times > task.max_attempts""",
    "a chain has not what its completed task left it": """
        select branch.id, branch.state, count(leaf)
        from rolecall.all_tasks as branch
        left join rolecall.all_tasks as leaf on leaf.chain_id = branch.id and leaf.chain_index = 1
        where branch.handler = 'branch'
        group by branch.id, branch.state
        having count(leaf) <> case branch.state when 'completed' then 2 else 0 end""",
    "a task that cannot complete has completed": """
        select id, handler from rolecall.all_tasks where state = 'completed' and handler in ('hang', 'poison')""",
    "a schedule's occasion was fired twice": """
        select substring(dedupe_key from 'schedule:\\d+:\\d+') as occasion, count(*)
        from rolecall.all_tasks where handler = 'tick' group by 1 having count(*) > 1""",
    "a schedule's occasion was left out": """
        select slot, fired_at, next_slot
        from (
            select slot, created_at as fired_at, lead(slot) over (order by slot, id) as next_slot
            from (
                select id, created_at, to_timestamp(substring(dedupe_key from 'schedule:\\d+:(\\d+)')::bigint) as slot
                from rolecall.all_tasks where handler = 'tick'
            ) as tick
        ) as occasion
        where next_slot > date_trunc('second', fired_at) + interval '1 s'""",
    "a schedule was refused": """
        select name, last_error from rolecall.schedules where last_error is not null""",
    "a key is held or waited for after the end": """
        select id, key, parked, key_slot from rolecall.tasks where parked or key_slot is not null""",
    "a task failed for a reason that nobody planned": """
        select distinct split_part(told.error, E'\\n', 1)
        from (
            select error from rolecall.all_tasks where state = 'failed'
            union all
            select detail from rolecall.task_events where kind = 'error'
        ) as told
        where told.error !~ %(planned)s""",
    "Postgres saw a deadlock": """
        select deadlocks from pg_stat_database where datname = current_database() and deadlocks > 0""",
}
# Why tasks may fail here: as planned, with their worker, at their deadline, or for want of a database.
PLANNED = (
    r"chaos\.workload\.Planned|^the lease ran out|^the deadline passed|did not finish within|DatabaseUnavailable"
    r"|psycopg.*(OperationalError|AdminShutdown|CrashShutdown|CannotConnectNow|PoolTimeout|PoolClosed)"
)

# What must have happened, or the soak has proved nothing.
BITES = {
    "rescued": "select count(*) from rolecall.task_events where kind = 'crashed'",
    "takeovers": """
        select count(*) from rolecall.all_tasks as task
        where exists (
            select from chaos.runs as one
            join chaos.runs as other on other.task_id = one.task_id and other.fence > one.fence and other.pid <> one.pid
            where one.task_id = task.id
        )""",
    "parked": "select coalesce(sum(parked_rivals), 0) from chaos.runs",
    "retried": "select count(*) from rolecall.task_events where kind = 'error'",
    "timeouts": "select count(*) from rolecall.task_events where kind = 'timeout'",
    "snoozed": "select count(*) from rolecall.task_events where kind = 'snoozed'",
    "poison failed": """
        select count(*) from rolecall.all_tasks
        where handler = 'poison' and state = 'failed' and error like 'the lease ran out%'""",
    "tasks": "select count(*) from rolecall.all_tasks",
    "ticks": "select count(*) from rolecall.all_tasks where handler = 'tick'",
}


def violations(server: Server, acked: list[int]) -> list[str]:
    """Return what broke which law."""
    found = []
    for law, broken_by in LAWS.items():
        guilty = server.insist(broken_by, {"acked": acked, "planned": PLANNED})
        if guilty:
            shown = "; ".join(", ".join(map(str, row)) for row in guilty[:MOST_SHOWN])
            found.append(f"{law}: {len(guilty)} ({shown})")
    return found


def bites(server: Server) -> dict[str, int]:
    """Return how often that happened which the faults are for."""
    return {name: server.number(query) for name, query in BITES.items()}


def read_notes(folder: Path) -> tuple[list[int], int]:
    """Return the ids that the producers saw acknowledged, and how many of their calls were not answered."""
    notes = [line.split() for log in folder.glob("*.acked") for line in log.read_text().splitlines()]
    acked = [int(task_id) for what, *ids in notes if what == "acked" for task_id in ids]
    return acked, sum(what == "unanswered" for what, *_ in notes)
