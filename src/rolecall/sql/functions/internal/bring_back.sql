-- Moves failed and cancelled tasks back among the open ones, under their id and fence, with all their attempts before them. Their
-- parents count them again. The info of one that had children is forgotten: it has theirs in it, and there will be others.
-- returns: those that are back; another open task with its dedupe key keeps one from it
-- raises: nothing
-- locks: the caller holds them, their open children and their open parents
-- notifies: nothing
create or replace function rolecall.bring_back(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_back bigint[];
begin
    with back as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, fence, max_attempts, key, dedupe_key, payload, retry,
            info, error, origin_id, parent_id, parent_fence, depth, on_failure, dedupe_pending, timeout
        )
        select
            id, chain_id, chain_index, created_at, v_now, line.here, fence, max_attempts, key, dedupe_key, payload, retry,
            case when not exists (select from rolecall.finished_tasks as child where child.parent_id = ended.id) then info end,
            error, origin_id, parent_id, parent_fence, depth, on_failure, dedupe_pending, timeout
        from rolecall.finished_tasks as ended
        cross join lateral (
            -- What became of it before says nothing about who may take it now.
            select rolecall.find_or_add_line(last.role, last.handler, last.priority, coalesce(ended.max_attempts = 1, false), '{}') as here
            from rolecall.lines as last
            where last.id = ended.line_id
        ) as line
        where id = any(p_ids) and state in ('failed', 'cancelled')
        order by dedupe_key, id
        on conflict do nothing
        returning tasks.id
    ),
    gone as (
        delete from rolecall.finished_tasks where id in (select back.id from back)
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select back.id, v_now, 'retried', 0 from back
    )
    select coalesce(array_agg(back.id), '{}') into v_back from back;
    update rolecall.tasks as parent
    set open_children = coalesce(parent.open_children, 0) + child.number
    from (
        select task.parent_id, count(*)::int as number
        from rolecall.tasks as task
        where task.id = any(v_back) and task.parent_id <> all(v_back)
        group by task.parent_id
    ) as child
    where parent.id = child.parent_id;
    update rolecall.tasks as parent
    set open_children = child.number
    from (
        select task.parent_id, count(*)::int as number
        from rolecall.tasks as task
        where task.parent_id = any(v_back)
        group by task.parent_id
    ) as child
    where parent.id = child.parent_id;
    return v_back;
end
$$;
