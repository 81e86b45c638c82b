-- Locks those among some reports that have open children, which end beside them, together with the parents of what has ended, and
-- with what is open below those that are to be cancelled: children before parents, and the deepest of those first.
-- returns: nothing
-- raises: nothing
-- locks: what hold_tasks locks; nothing where no report is of a task with open children
-- notifies: nothing
create or replace function rolecall.hold_parents(p_worker_id bigint, p_reports jsonb, p_endings rolecall.ending[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_running bigint[];
    v_cancelled bigint[];
begin
    select array_agg(task.id), array_agg(task.id) filter (where task.is_cancelled) into v_running, v_cancelled
    from jsonb_to_recordset(p_reports) as report (id bigint, fence int)
    cross join lateral (
        select owned.id, owned.cancel_requested_at is not null as is_cancelled
        from rolecall.tasks as owned
        where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            and owned.open_children is not null
        offset 0
    ) as task;
    if v_running is not null then
        perform rolecall.hold_tasks(v_running || rolecall.with_open_descendants(v_cancelled) || array(
            select ending.parent_id from unnest(p_endings) as ending where ending.parent_id is not null
        ));
    end if;
end
$$;
