-- Lets go of the failed, snoozed, blocked, cancelled, returned and misfit among some reports, where the fence and the worker still own them; and of
-- the completed ones that have children but are to be cancelled.
-- returns: one row: which were still owned; their keys and endings; what the blocked ones need, as `link_needs` takes it
-- raises: nothing
-- locks: tasks rows in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.lose_tasks(p_worker_id bigint, p_reports jsonb)
returns table (ids bigint[], keys text[], endings rolecall.ending[], needy jsonb)
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_losses jsonb;
    v_let_go record;
begin
    with owned as (
        select distinct on (report.id) report.*
        from (
            select * from jsonb_to_recordset(p_reports) as given (
                id bigint, fence int, outcome text, reason text, error text, after float8, at timestamptz, final boolean,
                needs jsonb, intake text
            )
            order by given.id
        ) as report
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
        order by report.id
    )
    select jsonb_agg(jsonb_build_object(
        'id', id, 'error', error, 'after', coalesce(after, extract(epoch from at - rolecall.clock())), 'final', final,
        'reported', true, 'needs', needs, 'intake', intake,
        'reason', case outcome when 'failed' then coalesce(reason, 'error') when 'completed' then 'cancelled' else outcome end
    ))
    into v_losses
    from owned;
    select * into v_let_go from rolecall.let_go(v_losses);
    ids := coalesce(v_let_go.ids, '{}');
    keys := v_let_go.keys;
    endings := v_let_go.endings;
    select jsonb_agg(jsonb_build_object('id', gone.id, 'needs', loss -> 'needs')) into needy
    from unnest(v_let_go.ids, v_let_go.states) as gone (id, state)
    join jsonb_array_elements(v_losses) as loss on (loss -> 'id')::bigint = gone.id
    where gone.state = 'blocked';
    return next;
end
$$;
