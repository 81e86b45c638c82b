-- Reads a batch of tasks as their callers wrote them, resolves role, handler and settings, and refuses what is not a task.
-- returns: one row a task, numbered by its place in the input
-- raises: RC031 unknown role, RC040 invalid task
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.read_drafts(p_tasks jsonb, p_now timestamptz)
returns table (
    n bigint, role text, handler text, priority int, due timestamptz, key text, dedupe_key text, max_attempts int,
    payload jsonb, retry jsonb, timeout interval, on_failure rolecall.child_rule, needs jsonb, dedupe jsonb, one_root boolean
)
language sql
volatile
set search_path = ''
as $$
    select
        item.n, named.role, named.handler, item.priority, named.due,
        item.key, named.handler || '/' || item.dedupe_key,
        nullif(coalesce(item.max_attempts, handler.max_attempts, role.max_attempts, 0), 0),
        coalesce(item.payload, '{}'), item.retry, make_interval(secs => item.timeout),
        item.on_failure::rolecall.child_rule, nullif(item.needs, '[]'), nullif(item.dedupe, 'null'), role.one_root
    from rows from (jsonb_to_recordset(p_tasks) as (
        role text, handler text, payload jsonb, priority int, scheduled_for timestamptz, after float8,
        key text, dedupe_key text, max_attempts int, retry jsonb, timeout float8, on_failure text, needs jsonb, dedupe jsonb
    )) with ordinality as item (
        role, handler, payload, priority, scheduled_for, after, key, dedupe_key, max_attempts, retry, timeout, on_failure, needs,
        dedupe, n
    )
    -- Each by its name: there may be thousands of handlers and roles, and a batch names few.
    left join lateral (
        select * from rolecall.handlers as known where known.name = coalesce(item.handler, item.role) offset 0
    ) as handler on true
    cross join lateral (
        select
            coalesce(item.role, handler.role, item.handler) as role,
            coalesce(item.handler, item.role) as handler,
            coalesce(
                item.scheduled_for,
                p_now + make_interval(secs => least(greatest(item.after, 0), 4e9))
            ) as due
    ) as named
    left join lateral (select * from rolecall.roles as known where known.name = named.role offset 0) as role on true
    cross join lateral (
        select coalesce(
            rolecall.task_problem(
                item.payload, role.max_payload_bytes, item.priority, named.due, p_now,
                item.key, item.dedupe_key, item.max_attempts, item.retry
            ),
            rolecall.edge_problem(item.timeout, item.on_failure, item.needs),
            case when item.dedupe <> 'null' then rolecall.dedupe_problem(item.dedupe, item.dedupe_key) end
        ) as text
    ) as problem
    where case
        when role.name is null then rolecall.refuse('RC031', format(
            'task %s: unknown role %s', item.n - 1, coalesce(quote_literal(named.role), '(neither role nor handler given)')
        ))
        when problem.text is not null then rolecall.refuse('RC040', format('task %s: %s', item.n - 1, problem.text))
        else true
    end
$$;
