-- Takes tasks that have fitted no worker for an hour, which is longer than a release needs to be everywhere.
-- returns: one document a task, as let_go takes it
-- raises: nothing
-- locks: tasks rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.unfitting_tasks(p_limit int)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
begin
    return query
    select jsonb_build_object('id', old.id, 'reason', 'misfit', 'final', true, 'error', old.error)
    from rolecall.lines as line
    cross join lateral (
        select task.id, task.error
        from rolecall.tasks as task
        where task.line_id = line.id and task.state = 'pending' and not task.parked and task.scheduled_for <= v_now
            and rolecall.unfit_since(task.id) < v_now - interval '1 hour'
        order by task.scheduled_for, task.id
        limit p_limit
        for update skip locked
    ) as old
    where line.misfit_for <> '{}'
    limit p_limit;
end
$$;
