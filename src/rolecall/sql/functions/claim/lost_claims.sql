-- Of a worker's claims, those that no longer own their task; to one that asks while its own report is under
-- way, it is completed.
-- returns: one row a lost claim, with the reason
create or replace function rolecall.lost_claims(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select lost.id, case lost.reason when 'already' then 'completed' else lost.reason end
    from (
        select claim.id, rolecall.why_lost(p_worker_id, claim.id, claim.fence) as reason
        from unnest(p_ids, p_fences) as claim (id, fence)
        where not exists (
            select from rolecall.tasks as task
            where task.id = claim.id and task.fence = claim.fence and (task.worker_id = p_worker_id) is true
            offset 0
        )
    ) as lost
    where lost.reason <> 'owned'
$$;
