"""Invariants of the pool that hold between any two calls."""

from __future__ import annotations

from tests.sql.engine import Engine

# Written independently of the engine's own definitions, which are being tested.
CAPACITY = """coalesce(
    (select coalesce(capacity, declared) from rolecall.keys where keys.key = task.key),
    (
        select coalesce(capacity, declared) from rolecall.key_patterns
        where task.key like replace(prefix, '_', '\\_') || '%'
            and task.key not in (select 'role:' || name from rolecall.roles where one_root)
        order by prefix desc limit 1
    ),
    1
)"""
# Each query returns the rows that break its rule. Named checks and unique indexes are not repeated.
RULES = {
    "each task is stored once": """
        select id from rolecall.all_tasks group by id having count(*) > 1
    """,
    "tasks that hold a key do not exceed its capacity": f"""
        select key from rolecall.tasks as task
        where key_slot is not null
        group by key having count(*) > {CAPACITY} or count(distinct key_slot) < count(*)
    """,
    "attempts do not exceed max_attempts": """
        select id from rolecall.all_tasks where attempt > max_attempts
    """,
    "running tasks have a lease and a deadline": """
        select id from rolecall.tasks where state = 'running' and num_nonnulls(lease_until, deadline_at, worker_id) < 3
    """,
    "a key with free capacity has unparked tasks of each waiting role and handler": f"""
        select task.key, line.role, line.handler from rolecall.tasks as task
        join rolecall.lines as line on line.id = task.line_id
        where task.key is not null and task.state = 'pending' and task.key_slot is null
            and task.scheduled_for <= rolecall.clock() and (task.expires_at <= rolecall.clock()) is not true
        group by task.key, line.role, line.handler
        having count(*) filter (where not task.parked) < least(count(*), {CAPACITY} - (
            select count(*) from rolecall.tasks as holder where holder.key = task.key and holder.key_slot > 0
        ))
    """,
    "only due tasks are parked": """
        select id from rolecall.tasks where parked and scheduled_for > rolecall.clock()
    """,
    "a dedupe key has at most one unclaimed task, and one open task outside scope pending": """
        select dedupe_key from rolecall.tasks where dedupe_key is not null group by dedupe_key
        having count(*) filter (where dedupe_pending is not true) > 1 or count(*) filter (where fence = 0) > 1
    """,
    "completed tasks and tasks finished by a worker were claimed": """
        select id from rolecall.finished_tasks
        where (state = 'completed' and fence = 0) or (worker_id is not null and (attempt = 0 or fence = 0))
    """,
    "a parent counts exactly its open children": """
        select parent.id from rolecall.tasks as parent
        where coalesce(open_children, 0) <> (select count(*) from rolecall.tasks as child where child.parent_id = parent.id)
    """,
    "a task counts exactly its open needs": """
        select id from rolecall.tasks
        where coalesce(open_needs, 0) <> (select count(*) from rolecall.needs where task_id = tasks.id and outcome is null)
    """,
    "open needs refer to open tasks that are marked as needed": """
        select task.id from rolecall.tasks as task
        join rolecall.needs as need on need.task_id = task.id and need.outcome is null
        where not exists (
            select from rolecall.tasks as needed
            where needed.needed and (needed.id = need.needed_id or (need.whole_chain and needed.chain_id = need.needed_id))
        )
    """,
    "a chain has at most one open task": """
        select chain_id from rolecall.tasks group by chain_id having count(*) > 1
    """,
    "a continued task has a next task in its chain": """
        select ended.id from rolecall.finished_tasks as ended
        where ended.continued and not exists (
            select from rolecall.all_tasks as link
            where link.chain_id = ended.chain_id and link.chain_index = ended.chain_index + 1
        )
    """,
}


# One statement for all rules, because a random test checks them thousands of times.
BROKEN = " union all ".join(
    f"select {number}, broken::text from ({query}) as broken" for number, query in enumerate(RULES.values())
)


def check(engine: Engine) -> None:
    names = list(RULES)
    broken = [(names[number], row) for number, row in engine.rows(BROKEN)]
    assert not broken, broken
