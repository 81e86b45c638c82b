-- Marks prefetched tasks as started.
-- returns: one row a claim that was lost, with the reason
-- raises: nothing
-- locks: tasks rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.start(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
begin
    update rolecall.tasks as task
    set started_at = rolecall.clock()
    where task.id = any(array(
        select held.id
        from unnest(p_ids, p_fences) as claim (id, fence)
        join rolecall.tasks as held on held.id = claim.id
        where held.fence = claim.fence and (held.worker_id = p_worker_id) is true and held.started_at is null
        for no key update of held skip locked
    ));
    return query select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences);
end
$$;
