-- Decides how parents go on whose last child has ended: with their next step where they have one, else to their end, which is a
-- failure where a child's was one that the parent shares. What the children told adds up beside the parent's own info.
-- returns: one row: the keys and endings of those that ended
-- raises: nothing
-- locks: the caller holds the tasks
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.resume_parents(p_ids bigint[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_failed bigint[];
    v_going_on bigint[];
    v_lines int[];
begin
    if cardinality(p_ids) = 0 then
        return;
    end if;
    with parent as (
        update rolecall.tasks as task
        set children_info = summary.info
        from (
            select given.id, children.* from unnest(p_ids) as given (id)
            join rolecall.tasks as waiting using (id)
            cross join lateral rolecall.sum_up_children(
                waiting.id, waiting.fence, waiting.created_at, waiting.children_info
            ) as children
        ) as summary
        where task.id = summary.id
        returning task.id, task.gathers, task.line_id, summary.failed
    )
    select array_agg(parent.id) filter (where failed > 0), array_agg(parent.id) filter (where failed = 0 and gathers),
        array_agg(parent.line_id) filter (where failed = 0 and gathers)
    into v_failed, v_going_on, v_lines
    from parent;
    update rolecall.tasks as task
    set state = 'pending', step = 1, step_number = coalesce(task.step_number, task.step, 0) + 1, gathers = null, serial = null, open_children = null,
        attempt = 0, refunds = 0, worker_id = null, claimed_at = null, started_at = null, lease_until = null, deadline_at = null
    where task.id = any(v_going_on);
    perform rolecall.wake_lines(v_lines);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', given.id) || case
            when given.id = any(v_failed) then '{"state": "failed", "error": "One or more child tasks failed"}'::jsonb
            else '{"state": "completed"}'
        end)
        from unnest(p_ids) as given (id)
        where (given.id = any(v_going_on)) is not true
    ));
end
$$;
