-- Brings failed and cancelled tasks back as pending, under their id and fence, with all their attempts before them.
-- returns: one row a given id: pending, open (not finished), completed (not to be retried), duplicate (an open task has its
--          dedupe key), missing
-- raises: nothing
-- locks: finished_tasks rows in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.retry(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_back bigint[];
    v_roles text[];
begin
    perform rolecall.require_durability();
    perform from rolecall.finished_tasks
    where id = any(p_ids) and state in ('failed', 'cancelled')
    order by id
    for update;
    with back as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, fence, max_attempts,
            key, dedupe_key, payload, retry, info, error
        )
        select
            id, chain_id, chain_index, created_at, v_now, line_id, fence, max_attempts,
            key, dedupe_key, payload, retry, info, error
        from rolecall.finished_tasks
        where id = any(p_ids) and state in ('failed', 'cancelled')
        order by dedupe_key, id
        on conflict do nothing
        returning tasks.id, tasks.line_id
    ),
    gone as (
        delete from rolecall.finished_tasks where id in (select id from back)
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select id, v_now, 'retried', 0 from back
    )
    select array_agg(back.id), array_agg(distinct line.role)
    into v_back, v_roles
    from back
    join rolecall.lines as line on line.id = back.line_id;
    perform rolecall.wake(v_roles);
    return query
    select given.id, coalesce(
        case when given.id = any(v_back) then 'pending' end,
        (select 'open' from rolecall.tasks as task where task.id = given.id),
        (
            select case finished.state when 'completed' then 'completed' else 'duplicate' end
            from rolecall.finished_tasks as finished
            where finished.id = given.id
            limit 1
        ),
        'missing'
    )
    from unnest(p_ids) as given (id);
end
$$;
