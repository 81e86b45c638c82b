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
        where task.state = 'completed' and task.handler in ('settle', 'linger', 'family')
        group by 1, 2 having count(effect) <> 1""",
    "there is an effect without a completion": """
        select effect.task_id, task.state
        from chaos.effects as effect
        left join rolecall.all_tasks as task on task.id = effect.task_id
        where (task.state = 'completed') is not true""",
    "a completed task has no deed": """
        select id, handler from rolecall.all_tasks as task
        where state = 'completed' and handler not in ('settle', 'linger', 'family')
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
    "a completed task has not left what it had to": """
        select branch.id, branch.state, count(leaf)
        from rolecall.all_tasks as branch
        left join rolecall.all_tasks as leaf on leaf.origin_id = branch.id
        where branch.handler = 'branch'
        group by branch.id, branch.state
        having count(leaf) <> case branch.state when 'completed' then 2 else 0 end""",
    "a parent ended before its last child": """
        select parent.id, parent.state, parent.finished_at, child.id, child.finished_at
        from rolecall.all_tasks as child
        join rolecall.all_tasks as parent on parent.id = child.parent_id
        where parent.state = 'completed' and (child.finished_at > parent.finished_at or child.finished_at is null)""",
    "a parent gathered before its last child ended": """
        select parent.id, run.fence, run.began_at, child.id, child.finished_at
        from rolecall.all_tasks as child
        join rolecall.all_tasks as parent on parent.id = child.parent_id
        join chaos.runs as run on run.task_id = parent.id and run.step > 0 and run.claimed_at is not null
        where child.finished_at > run.began_at or child.finished_at is null""",
    "a parent has not gathered exactly its children": """
        select parent.id, parent.result, array_agg(child.id order by child.chain_id)
        from rolecall.all_tasks as parent
        left join rolecall.all_tasks as child on child.parent_id = parent.id
        where parent.handler = 'family' and parent.state = 'completed'
        group by parent.id, parent.result
        having parent.result -> 'children' <> to_jsonb(array_agg(child.id order by child.chain_id)) or count(child) <> 4""",
    "a chain has not gone on to its end, or twice": """
        select chain_id, array_agg(chain_index order by chain_index), array_agg(state order by chain_index)
        from rolecall.all_tasks where handler = 'saga'
        group by chain_id
        having max(chain_index) <> count(*) - 1
            or (count(*) < 3 and bool_and(state = 'completed')) or count(*) filter (where state <> 'completed') > 1""",
    "a task ran before what it needs had ended": """
        select heir.id, run.began_at, needed.id, needed.state, needed.finished_at
        from rolecall.needs as need
        join rolecall.all_tasks as heir on heir.id = need.task_id
        join rolecall.all_tasks as needed
            on needed.id = need.needed_id or (need.whole_chain and needed.chain_id = need.needed_id)
        join chaos.runs as run on run.task_id = heir.id and run.claimed_at is not null
        where needed.finished_at > run.began_at or needed.finished_at is null""",
    "a task has not failed with what it needs": """
        select heir.id, heir.state, need.outcome
        from rolecall.needs as need
        join rolecall.all_tasks as heir on heir.id = need.task_id
        where need.on_failure = 'fail' and need.outcome <> 'completed' and heir.state = 'completed'""",
    "a need was never met": """
        select need.task_id, need.needed_id, heir.state
        from rolecall.needs as need
        join rolecall.all_tasks as heir on heir.id = need.task_id
        where need.outcome is null and heir.state = 'completed'""",
    "a task that cannot complete has completed": """
        select id, handler from rolecall.all_tasks where state = 'completed' and handler in ('hang', 'poison')""",
    "a schedule's occasion was fired twice": """
        select substring(dedupe_key from 'schedule:\\d+:\\d+') as occasion, count(*)
        from rolecall.all_tasks where handler = 'tick' group by 1 having count(*) > 1""",
    "a schedule's occasion was left out": """
        select slot, missed, at, slot_before, tick_before
        from (
            select slot, missed, at, lag(slot) over runs as slot_before, lag(began_at) over runs as tick_before
            from rolecall.schedule_runs left join chaos.ticks on run_id = id
            where slot is not null
            window runs as (partition by schedule_id order by slot, id)
        ) as run
        where slot <> slot_before + (missed + 1) * interval '1 s' or tick_before >= slot - missed * interval '1 s'""",
    "a schedule was refused": """
        select name, last_error from rolecall.schedules where last_error is not null""",
    "a key is held or waited for after the end": """
        select id, key, parked, key_slot from rolecall.tasks where parked or key_slot is not null""",
    "a task was parked though its key had room": """
        select task_id from rolecall.task_events where kind = 'unparked'""",
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
    r"|^One or more child tasks failed$|^Parent task failed$|^dependency failed: "
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
    "gathered": "select count(*) from rolecall.all_tasks where handler = 'family' and state = 'completed'",
    "taken over while gathering": """
        select count(distinct task_id) from chaos.runs as run
        where run.step > 0 and exists (
            select from chaos.runs as older where older.task_id = run.task_id and older.step > 0 and older.fence < run.fence
        )""",
    "inherited": "select count(*) from rolecall.all_tasks where handler = 'heir' and state = 'completed'",
    "disinherited": "select count(*) from rolecall.all_tasks where handler = 'heir' and state = 'failed'",
    "chained": "select count(*) from rolecall.all_tasks where chain_index > 1",
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
