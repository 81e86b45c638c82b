-- Gives a worker's claims back, as at shutdown: pending again at once, the attempt not spent.
-- returns: one row a claim that was lost, with the reason
-- raises: nothing
-- locks: tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.release(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_losses jsonb;
begin
    perform rolecall.require_durability();
    return query select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences);
    with owned as (
        select task.id
        from unnest(p_ids, p_fences) as claim (id, fence)
        join rolecall.tasks as task on task.id = claim.id
        where task.fence = claim.fence and (task.worker_id = p_worker_id) is true
        order by task.id
        for update of task
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', 'shutdown')) into v_losses from owned;
    perform rolecall.let_go(v_losses);
end
$$;
