-- Gives claims back as release does, unless something was waited for too long, or came meanwhile.
-- returns: one row a claim that was lost, with the reason
-- raises: 55P03, RC090 undo this and try again
-- locks: tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.try_to_release(p_worker_id bigint, p_claims jsonb)
returns table (task_id bigint, reason text)
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
    return query
    select lost.task_id, lost.reason
    from (
        select array_agg(claim.id) as ids, array_agg(claim.fence) as fences
        from jsonb_to_recordset(p_claims) as claim (id bigint, fence int)
    ) as given
    cross join lateral rolecall.lost_claims(p_worker_id, given.ids, given.fences) as lost;
    with owned as (
        select task.id, task.started_at
        from (
            select * from jsonb_to_recordset(p_claims) as given (id bigint, fence int) order by given.id
        ) as claim
        cross join lateral (
            select owned.id, owned.started_at
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence
                and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select jsonb_agg(
        jsonb_build_object(
            'id', id, 'reason', case when started_at is null then 'returned' else 'shutdown' end
        )
    )
    into v_losses
    from owned;
    select * into v_let_go from rolecall.let_go(v_losses);
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
end
$$;
