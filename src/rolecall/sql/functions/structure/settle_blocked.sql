-- Takes met needs off blocked tasks' counts: without any left a task may run, in its turn; with a culprit it
-- fails.
-- returns: one row: the keys and endings of those that failed
-- locks: the tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.settle_blocked(p_hits jsonb)
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    perform from rolecall.tasks as task
    where task.id = any(array(select (hit -> 'id')::bigint from jsonb_array_elements(p_hits) as hit))
        and task.state = 'blocked'
    order by task.id
    for update;
    with hit as (
        select * from jsonb_to_recordset(p_hits) as given (id bigint, number int, culprit bigint)
    ),
    moved as (
        update rolecall.tasks as task
        set open_needs = nullif(task.open_needs - hit.number, 0),
            state = case
                when task.open_needs > hit.number then 'blocked'
                else 'pending'
            end::rolecall.task_state,
            -- A child keeps its place with its tree; others do not jump the queue by an old date.
            scheduled_for = case
                when task.open_needs > hit.number or task.parent_id is not null then task.scheduled_for
                else greatest(task.scheduled_for, v_now)
            end
        from hit
        where task.id = hit.id and task.state = 'blocked' and hit.culprit is null
        returning task.line_id, task.state
    )
    select array_agg(moved.line_id) into v_lines from moved where moved.state = 'pending';
    perform rolecall.wake_lines(v_lines);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object(
            'id', task.id, 'state', 'failed', 'error',
            format('dependency failed: task %s, which this one needs, did not complete', hit.culprit)
        ))
        from jsonb_to_recordset(p_hits) as hit (id bigint, culprit bigint)
        join rolecall.tasks as task using (id)
        where hit.culprit is not null and task.state = 'blocked'
    ));
end
$$;
