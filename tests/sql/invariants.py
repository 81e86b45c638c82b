"""What must hold of the pool between any two calls, whoever made them."""

from __future__ import annotations

from tests.sql.engine import Engine

# Each query finds the rows that break its rule; what named checks and unique indexes forbid is not asked again.
RULES = {
    "a task stands in the pool once (invariant 2)": """
        select id from rolecall.all_tasks group by id having count(*) > 1
    """,
    "no more tasks hold a key than it has places for (invariant 5)": """
        select key from rolecall.tasks
        left join rolecall.keys using (key)
        where key_slot is not null
        group by key having count(*) > coalesce(min(capacity), 1) or count(distinct key_slot) < count(*)
    """,
    "no more attempts than allowed (invariant 6)": """
        select id from rolecall.all_tasks where attempt > max_attempts
    """,
    "what runs has a lease and a deadline (invariant 7)": """
        select id from rolecall.tasks where state = 'running' and num_nonnulls(lease_until, deadline_at, worker_id) < 3
    """,
    "where a key has room, each role and handler that waits for it has its best task brought back (invariant 7)": """
        select task.id from rolecall.tasks as task
        join rolecall.keys as key using (key)
        join rolecall.lines as line on line.id = task.line_id
        where task.parked
            and key.capacity > (select count(*) from rolecall.tasks as holder where holder.key = key.key and holder.key_slot > 0)
            and not exists (
                select from rolecall.tasks as head
                join rolecall.lines as same on same.id = head.line_id and (same.role, same.handler) = (line.role, line.handler)
                where head.key = key.key and head.state = 'pending' and not head.parked
                    and head.scheduled_for <= rolecall.clock()
            )
    """,
    "only what is due is parked": """
        select id from rolecall.tasks where parked and scheduled_for > rolecall.clock()
    """,
    "one open task a dedupe key (invariant 10)": """
        select dedupe_key from rolecall.tasks where dedupe_key is not null group by dedupe_key having count(*) > 1
    """,
    "what has ended was claimed or cancelled": """
        select id from rolecall.finished_tasks where state <> 'cancelled' and (attempt = 0 or fence = 0)
    """,
}


def check(engine: Engine) -> None:
    """Assert every rule."""
    broken = {rule: rows for rule, query in RULES.items() if (rows := engine.rows(query))}
    assert broken == {}
