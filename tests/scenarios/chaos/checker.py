"""Judges a soak by its records: the producers' notes, the handlers' runs and the task tables.

It does not call the engine.
"""

from __future__ import annotations

import json

from tests.scenarios.chaos import in_line, steady
from tests.scenarios.chaos.evidence import Notes
from tests.scenarios.chaos.server import Server

MOST_SHOWN = 5
# How many starts of a task may be recorded before a fault that does not stop its worker, such as a crash of the server. A
# worker that is frozen or killed within a second of the record may not have called the handler either.
MOST_BETWEEN = 2

# Each law is a query that returns its violations.
LAWS = {
    "an acknowledged task is lost": """
        select acked.id from unnest(%(acked)s::bigint[]) as acked (id)
        where not exists (select from rolecall.all_tasks as task where task.id = acked.id)""",
    "a task has not finished": """
        select id, handler, status, attempt, fence, key from rolecall.all_tasks
        where state not in ('completed', 'failed', 'cancelled')""",
    "a task has finished twice, or is finished and open": """
        select id, count(*) from rolecall.all_tasks group by id having count(*) > 1""",
    "a completed task does not have exactly one effect": """
        select task.id, task.handler, count(effect)
        from rolecall.all_tasks as task
        left join chaos.effects as effect on effect.task_id = task.id
        where task.state = 'completed' and task.handler in ('settle', 'linger', 'family', 'insist')
        group by 1, 2 having count(effect) <> 1""",
    "an effect has no completed task": """
        select effect.task_id, task.state
        from chaos.effects as effect
        left join rolecall.all_tasks as task on task.id = effect.task_id
        where (task.state = 'completed') is not true""",
    "a completed task has no run that ended": """
        select id, handler, fence from rolecall.all_tasks as task
        where state = 'completed' and not exists (
            select from chaos.runs as run where run.task_id = task.id and run.fence = task.fence and run.ended_at is not null
        )""",
    "an older claim than the newest has completed a task": """
        select task.id, task.handler, task.fence, task.result, effect.fence, newest.fence
        from rolecall.all_tasks as task
        left join chaos.effects as effect on effect.task_id = task.id
        left join lateral (
            select max(run.fence) as fence from chaos.runs as run where run.task_id = task.id and not run.shaken
        ) as newest on true
        where task.state = 'completed' and (
            (task.result ->> 'fence')::int is distinct from task.fence
            or coalesce(effect.fence, task.fence) <> task.fence or newest.fence > task.fence
        )""",
    "more tasks of a key ran at once than its capacity allows": """
        with sure as (
            -- Who completed a task owned it throughout; of the steady role's others it is known for how long at least.
            select run.run, run.key, run.began_at, coalesce(
                (select run.ended_at from rolecall.all_tasks as task
                where task.id = run.task_id and task.fence = run.fence and task.state = 'completed'),
                run.leased_until
            ) as until
            from chaos.runs as run where run.key is not null
        )
        select one.key, one.began_at, array_agg(other.run)
        from sure as one
        join sure as other on other.key = one.key and other.began_at <= one.began_at
            and (other.until > one.began_at or other.run = one.run)
        where one.until is not null
        group by one.run, one.key, one.began_at
        having count(*) > coalesce((%(capacities)s::jsonb -> split_part(one.key, '-', 1))::int, 1)""",
    "a task of a key began before an older one": in_line.BEGUN_TOO_EARLY,
    "an outcome was stored before that of an older task of its key": in_line.STORED_TOO_EARLY,
    "a task began again during a run that only lost its connections": """
        select one.task_id, one.run, other.run
        from chaos.runs as one
        join chaos.runs as other on other.task_id = one.task_id and other.began_at > one.began_at
            and other.began_at < one.ended_at
        where one.handler = 'endure'""",
    "a task that may run once began twice": """
        select task_id, array_agg(run || ' at attempt ' || attempt || ', fence ' || fence) from chaos.runs
        where handler = any(%(once)s) group by task_id having count(*) > 1""",
    "a task had more attempts than allowed": """
        select task.id, task.handler, task.attempt, task.max_attempts, tried.times
        from rolecall.all_tasks as task
        left join lateral (
            select
                (select count(distinct run.fence) from chaos.runs as run
                    where run.task_id = task.id and run.started and not run.shaken)
                - (select count(*) from rolecall.task_events as event
                    where event.task_id = task.id and event.kind in ('snoozed', 'shutdown')) as times
        ) as tried on true
        where task.attempt > task.max_attempts or tried.times > task.max_attempts""",
    "a task failed permanently with attempts left": """
        select task.id, task.handler, task.attempt, task.max_attempts, task.error
        from rolecall.all_tasks as task
        where task.state = 'failed' and task.error !~ %(by_others)s and (
            task.attempt < task.max_attempts
            -- An only attempt counts from its claim.
            or (task.handler <> all(%(once)s) and (
                select count(*) from generate_series(1, task.attempt) as attempt
                where not exists (select from chaos.runs as run where run.task_id = task.id and run.attempt = attempt)
            ) > %(between)s)
        )""",
    "an attempt was spent without being started": """
        select event.task_id, task.handler, count(*), array_agg(event.attempt order by event.attempt)
        from rolecall.task_events as event
        join rolecall.all_tasks as task on task.id = event.task_id
        join rolecall.workers as worker on worker.id = event.worker_id
        where event.kind = 'crashed' and event.started_at is not null and task.handler <> all(%(once)s)
            and not exists (
                select from chaos.stops as stop
                where stop.pid = worker.pid and stop.at between event.started_at - interval '1 s'
                    and event.started_at + interval '1 s'
            )
            and not exists (
                select from chaos.runs as run where run.task_id = event.task_id and run.attempt = event.attempt
            )
        group by event.task_id, task.handler
        having count(*) > %(between)s""",
    "an attempt began after its task had expired": """
        select task.id, task.handler, run.fence, task.expires_at, to_timestamp(run.began_clock)
        from rolecall.all_tasks as task
        join chaos.runs as run on run.task_id = task.id and run.step = 0
        where to_timestamp(run.began_clock) > task.expires_at + interval '100 ms'""",
    "a task failed without being started": """
        select id, handler, attempt, max_attempts, error from rolecall.all_tasks as task
        where state = 'failed' and error !~ %(by_others)s and coalesce(max_attempts, 9) >= 3
            and not exists (select from chaos.runs as run where run.task_id = task.id)""",
    "an order does not have exactly one task, or a task has no order": """
        select entry.name, entry.task_id, task.id, task.dedupe_key
        from chaos.orders as entry
        full join (select id, dedupe_key from rolecall.all_tasks where dedupe_key like 'order:%%') as task
            on task.id = entry.task_id and task.dedupe_key = entry.name
        where task.id is null or entry.name is null""",
    "a request was carried out partly or twice": """
        select payload ->> 'name', payload ->> 'of', count(*), array_agg(id)
        from rolecall.all_tasks where handler = 'asked'
        group by 1, 2 having count(*) <> (payload ->> 'of')::int""",
    "a merged payload is lost": """
        select merged.number from unnest(%(merged)s::int[]) as merged (number)
        where not exists (
            select from rolecall.all_tasks as task
            where task.handler = 'gather' and task.payload -> 'numbers' @> to_jsonb(merged.number)
        )""",
    "the newest of several replacements is lost": """
        select newest.key, newest.value
        from jsonb_each(%(replaced)s) as newest
        where newest.value::int > (
            select coalesce(max((task.payload ->> 'number')::int), 0) from rolecall.all_tasks as task
            where task.handler = 'latest' and task.dedupe_key = newest.key
        )""",
    "a task does not have exactly the follow-ups of its outcome": """
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
        select parent.id, run.fence, to_timestamp(run.began_clock), child.id, child.finished_at
        from rolecall.all_tasks as child
        join rolecall.all_tasks as parent on parent.id = child.parent_id
        join chaos.runs as run on run.task_id = parent.id and run.step > 0
        where child.finished_at > to_timestamp(run.began_clock) or child.finished_at is null""",
    "a parent has not gathered exactly its own children": """
        select parent.id, parent.result, array_agg(child.id order by child.chain_id)
        from rolecall.all_tasks as parent
        left join rolecall.all_tasks as child on child.parent_id = parent.id
        where parent.handler = 'family' and parent.state = 'completed'
        group by parent.id, parent.result
        having parent.result -> 'children' <> to_jsonb(array_agg(child.id order by child.chain_id)) or count(child) <> 4""",
    "a chain did not reach its end, or did so twice": """
        select chain_id, array_agg(chain_index order by chain_index), array_agg(state order by chain_index)
        from rolecall.all_tasks where handler = 'saga'
        group by chain_id
        having max(chain_index) <> count(*) - 1
            or (count(*) < 3 and bool_and(state = 'completed')) or count(*) filter (where state <> 'completed') > 1""",
    "a task ran before its needs had finished": """
        select heir.id, to_timestamp(run.began_clock), needed.id, needed.state, needed.finished_at
        from rolecall.needs as need
        join rolecall.all_tasks as heir on heir.id = need.task_id
        join rolecall.all_tasks as needed
            on needed.id = need.needed_id or (need.whole_chain and needed.chain_id = need.needed_id)
        join chaos.runs as run on run.task_id = heir.id
        where needed.finished_at > to_timestamp(run.began_clock) or needed.finished_at is null""",
    "a task has not failed although a need has": """
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
    "a fire time has two tasks": """
        select substring(dedupe_key from 'schedule:\\d+:\\d+') as occasion, count(*)
        from rolecall.all_tasks where handler = 'tick' group by 1 having count(*) > 1""",
    "a fire time has no run": """
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
    "a key is held or has parked tasks after the end": """
        select id, key, parked, key_slot from rolecall.tasks where parked or key_slot is not null""",
    "a task is parked although its key has free capacity": """
        select task_id from rolecall.task_events where kind = 'unparked'""",
    "a task failed for an unplanned reason": """
        select distinct told.handler, split_part(told.error, E'\\n', 1)
        from (
            select handler, error, max_attempts from rolecall.all_tasks where state = 'failed'
            union all
            select task.handler, event.detail, null
            from rolecall.task_events as event join rolecall.all_tasks as task on task.id = event.task_id
            where event.kind = 'error'
        ) as told
        where told.error !~ %(planned)s
            and not (coalesce(told.max_attempts, 9) <= 3 and told.error ~ %(lost)s)
            and not (told.handler = any(%(transacting)s) and told.error ~ %(database)s)""",
    "Postgres saw a deadlock": """
        select deadlocks from pg_stat_database where datname = current_database() and deadlocks > 0""",
}
LAWS_OF_EVERY_MOMENT = (
    "an acknowledged task is lost",
    "an older claim than the newest has completed a task",
    "more tasks of a key ran at once than its capacity allows",
    "a task of a key began before an older one",
    "an outcome was stored before that of an older task of its key",
    "a task began again during a run that only lost its connections",
    "a task that may run once began twice",
    "a request was carried out partly or twice",
    "a task had more attempts than allowed",
    "an attempt was spent without being started",
    "an attempt began after its task had expired",
    "a parent ended before its last child",
    "a parent gathered before its last child ended",
    "a fire time has two tasks",
    "a task is parked although its key has free capacity",
)
# Why tasks may fail here: as planned, because a handler had no database, or with their worker on the last attempt.
BY_OTHERS = r"^One or more child tasks failed$|^Parent task failed$|^dependency failed: "
PLANNED = rf"chaos\.workload\.Planned|did not finish within|did not begin within 1 s|{BY_OTHERS}"
LOST = "^the lease ran out|^its worker died|^the deadline passed|^its worker was stopped"
DATABASE = (
    "Database(Unavailable|ReadOnly)|psycopg.*(OperationalError|ReadOnlySqlTransaction|AdminShutdown|CrashShutdown"
    "|IdleInTransactionSessionTimeout|CannotConnectNow|PoolTimeout|PoolClosed)"
)
TRANSACTING = ["settle", "linger", "family", "insist", "poison", "seal"]

# Without these events, the soak has proved nothing.
EFFECTS = {
    "rescued": "select count(*) from rolecall.task_events where kind = 'crashed'",
    "takeovers": """
        select count(*) from rolecall.all_tasks as task
        where exists (
            select from chaos.runs as one
            join chaos.runs as other on other.task_id = one.task_id and other.fence > one.fence and other.pid <> one.pid
            where one.task_id = task.id
        )""",
    "retried": "select count(*) from rolecall.task_events where kind = 'error'",
    "timeouts": "select count(*) from rolecall.task_events where kind = 'timeout'",
    "snoozed": "select count(*) from rolecall.task_events where kind = 'snoozed'",
    "poison failed": """
        select count(*) from rolecall.all_tasks
        where handler = 'poison' and state = 'failed' and error ~ '^the lease ran out|^its worker died'""",
    "gathered": "select count(*) from rolecall.all_tasks where handler = 'family' and state = 'completed'",
    "taken over while gathering": """
        select count(distinct task_id) from chaos.runs as run
        where run.step > 0 and exists (
            select from chaos.runs as older where older.task_id = run.task_id and older.step > 0 and older.fence < run.fence
        )""",
    "inherited": "select count(*) from rolecall.all_tasks where handler = 'heir' and state = 'completed'",
    "disinherited": "select count(*) from rolecall.all_tasks where handler = 'heir' and state = 'failed'",
    "insisted": """
        select count(*) from rolecall.all_tasks
        where handler = 'insist' and state = 'completed' and (payload ->> 'times')::int > 1""",
    "shared": """
        select count(*) from chaos.runs as one join chaos.runs as other on other.key = one.key and other.task_id <> one.task_id
            and other.began_at > one.began_at and other.began_at < one.ended_at
        where one.key like 'pair-%'""",
    "in line": "select count(*) from chaos.runs where key like 'line-%'",
    "ran once": "select count(*) from rolecall.all_tasks where handler = 'once' and state = 'completed'",
    "ordered": "select count(*) from chaos.orders",
    "asked": "select count(*) from rolecall.all_tasks where handler = 'asked' and state = 'completed'",
    "merged": """
        select count(*) from rolecall.all_tasks where handler = 'gather' and jsonb_array_length(payload -> 'numbers') > 1""",
    "changed": "select count(*) from rolecall.all_tasks where handler = 'changed' and payload ? 'remark'",
    "expired": "select count(*) from rolecall.task_events where kind = 'expired'",
    "brief": "select count(*) from rolecall.all_tasks where handler = 'brief' and state = 'completed'",
    "crunched": "select count(*) from rolecall.all_tasks where handler = 'crunch' and state = 'completed'",
    "chained": "select count(*) from rolecall.all_tasks where chain_index > 1",
    "tasks": "select count(*) from rolecall.all_tasks",
    "ticks": "select count(*) from rolecall.all_tasks where handler = 'tick'",
}


def violations(server: Server, notes: Notes, *, at_end: bool = True) -> list[str]:
    """Return the violations of each law. The runs must already be stored in the database.

    Before the end, only the laws that cannot be violated by work in progress are checked.
    """
    facts = {
        "acked": notes.acked,
        "merged": notes.merged,
        "replaced": json.dumps(notes.replaced),
        "capacities": json.dumps(steady.CAPACITIES),
        "once": list(steady.NEVER_AGAIN),
        "between": MOST_BETWEEN,
        "by_others": BY_OTHERS,
        "planned": PLANNED,
        "lost": LOST,
        "database": DATABASE,
        "transacting": TRANSACTING,
    }
    found = []
    for law in LAWS if at_end else LAWS_OF_EVERY_MOMENT:
        broken_by = LAWS[law]
        guilty = server.ask_until_answered(broken_by, facts)
        if guilty:
            shown = "; ".join(", ".join(map(str, row)) for row in guilty[:MOST_SHOWN])
            found.append(f"{law}: {len(guilty)} ({shown})")
    return found


def count_effects(server: Server) -> dict[str, int]:
    """Return how often each event that the faults should cause has happened."""
    return {name: server.number(query) for name, query in EFFECTS.items()}
