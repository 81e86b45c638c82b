-- Locks those tasks among some reports that this worker still owns, in id order; those that a failing one takes with it too, and
-- beside one that has open children the parents of the others, in the order that everybody keeps.
-- returns: nothing
-- raises: RC090 a task came below one of them meanwhile: undo this and try again
-- locks: tasks rows in id order, else what hold_tasks locks
-- notifies: nothing
create or replace function rolecall.lock_claims(p_worker_id bigint, p_reports jsonb)
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_owned bigint[];
    v_parents bigint[];
    v_above bigint[];
begin
    with owned as materialized (
        select report.id, task.parent_id, task.serial, task.open_children is not null as has_children, outcome.is_bad as fails,
            outcome.is_bad and task.on_failure = 'cancel_siblings' and task.parent_id is not null as cancels
        from jsonb_to_recordset(p_reports) as report (id bigint, fence int, outcome text)
        cross join lateral (
            select owned.parent_id, owned.serial, owned.on_failure, owned.open_children, owned.cancel_requested_at
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            offset 0
        ) as task
        cross join lateral (
            select report.outcome <> 'completed' or task.cancel_requested_at is not null as is_bad
        ) as outcome
    )
    select
        array_agg(owned.id),
        case when bool_or(owned.has_children) then array_agg(owned.parent_id) filter (where owned.parent_id is not null) end
            -- More serial children need the last that stands.
            || array_agg((select max(task.id) from rolecall.tasks as task where task.parent_id = owned.id)) filter (where owned.serial),
        array_agg(case when owned.cancels then owned.parent_id else owned.id end)
            filter (where owned.cancels or (owned.has_children and owned.fails))
    into v_owned, v_parents, v_above
    from owned;
    if v_above is not null or v_parents is not null then
        perform rolecall.hold_below(coalesce(v_above, '{}'), v_owned || v_parents);
    else
        perform from rolecall.tasks as task where task.id = any(v_owned) order by task.id for update;
    end if;
end
$$;
