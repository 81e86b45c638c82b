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
    "a task stands in the pool once": """
        select id from rolecall.all_tasks group by id having count(*) > 1
    """,
    "no more tasks hold a key than it has places for": f"""
        select key from rolecall.tasks as task
        where key_slot is not null
        group by key having count(*) > {CAPACITY} or count(distinct key_slot) < count(*)
    """,
    "no more attempts than allowed": """
        select id from rolecall.all_tasks where attempt > max_attempts
    """,
    "what runs has a lease and a deadline": """
        select id from rolecall.tasks where state = 'running' and num_nonnulls(lease_until, deadline_at, worker_id) < 3
    """,
    "where a key has room, each role and handler that waits for it has tasks brought back for it": f"""
        select task.key, line.role, line.handler from rolecall.tasks as task
        join rolecall.lines as line on line.id = task.line_id
        where task.key is not null and task.state = 'pending' and task.key_slot is null
            and task.scheduled_for <= rolecall.clock() and (task.expires_at <= rolecall.clock()) is not true
        group by task.key, line.role, line.handler
        having count(*) filter (where not task.parked) < least(count(*), {CAPACITY} - (
            select count(*) from rolecall.tasks as holder where holder.key = task.key and holder.key_slot > 0
        ))
    """,
    "only what is due is parked": """
        select id from rolecall.tasks where parked and scheduled_for > rolecall.clock()
    """,
    "one open task a dedupe key, but for unclaimed ones beside what was claimed": """
        select dedupe_key from rolecall.tasks where dedupe_key is not null group by dedupe_key
        having count(*) filter (where dedupe_pending is not true) > 1 or count(*) filter (where fence = 0) > 1
    """,
    "what has completed was claimed, or ended from outside, and what a worker ended was claimed": """
        select id from rolecall.finished_tasks
        where (state = 'completed' and fence = 0) or (worker_id is not null and (attempt = 0 or fence = 0))
    """,
    "a parent counts its open children, and waits for no others": """
        select parent.id from rolecall.tasks as parent
        where coalesce(open_children, 0) <> (select count(*) from rolecall.tasks as child where child.parent_id = parent.id)
    """,
    "a blocked task counts its open needs, and no other has any": """
        select id from rolecall.tasks
        where coalesce(open_needs, 0) <> (select count(*) from rolecall.needs where task_id = tasks.id and outcome is null)
    """,
    "what a blocked task needs is open, and knows that somebody waits for it": """
        select task.id from rolecall.tasks as task
        join rolecall.needs as need on need.task_id = task.id and need.outcome is null
        where not exists (
            select from rolecall.tasks as needed
            where needed.needed and (needed.id = need.needed_id or (need.whole_chain and needed.chain_id = need.needed_id))
        )
    """,
    "a chain has one open end": """
        select chain_id from rolecall.tasks group by chain_id having count(*) > 1
    """,
    "a task that goes on is followed by one of its chain": """
        select ended.id from rolecall.finished_tasks as ended
        where ended.continued and not exists (
            select from rolecall.all_tasks as link
            where link.chain_id = ended.chain_id and link.chain_index = ended.chain_index + 1
        )
    """,
}


def check(engine: Engine) -> None:
    broken = {rule: rows for rule, query in RULES.items() if (rows := engine.rows(query))}
    assert not broken, broken
