-- Gives a worker's claims back, as at shutdown: pending again at once, the attempt not spent. It waits for
-- nobody's open transaction: what one keeps from it comes back as busy, to be sent again, and the others are
-- given back.
-- returns: one row a claim that was not given back: busy, or why it was lost
-- raises: RC050 wrong isolation level
-- locks: tasks rows in id order; keys rows in key order; for each wait a tenth of a second at most, for all
-- together half a second
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.release(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    return query
    select released.task_id, released.reason
    from rolecall.release_claims(p_worker_id, (
        select jsonb_agg(jsonb_build_object('id', claim.id, 'fence', claim.fence))
        from unnest(p_ids, p_fences) as claim (id, fence)
    )) as released;
end
$$;
