-- Lets go of the failed, snoozed and cancelled among some reports, where the fence and the worker still own them.
-- returns: which were still owned
-- raises: nothing
-- locks: tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.lose_tasks(p_worker_id bigint, p_reports jsonb)
returns bigint[]
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
declare
    v_losses jsonb;
begin
    with owned as (
        select report.*
        from (
            select distinct on (given.id) * from jsonb_to_recordset(p_reports) as given (
                id bigint, fence int, outcome text, reason text, error text, after float8, final boolean
            )
            where given.outcome <> 'completed'
            order by given.id
        ) as report
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select jsonb_agg(jsonb_build_object(
        'id', id, 'error', error, 'after', after, 'final', final, 'reported', true,
        'reason', case outcome when 'failed' then coalesce(reason, 'error') else outcome end
    ))
    into v_losses
    from owned;
    return array(select task_id from rolecall.let_go(v_losses));
end
$$;
