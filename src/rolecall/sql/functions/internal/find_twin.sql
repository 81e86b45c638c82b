-- Finds the newest task that stands for a new one with the same dedupe_key. What has been claimed, or has ended, of a chain that
-- does not count is passed over: that which the new one says, and that of the task that enqueues it as it completes.
-- returns: the task's id, or null
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.find_twin(p_dedupe_key text, p_dedupe jsonb, p_place rolecall.place)
returns bigint
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_scope text := rolecall.dedupe_scope(p_dedupe);
    v_except bigint := (p_dedupe ->> 'except_chain')::bigint;
    v_id bigint;
begin
    -- No max: it would be looked for from the newest id on, down a million others.
    select (array_agg(task.id order by task.id desc))[1] into v_id
    from (
        select id, fence, chain_id from rolecall.tasks where dedupe_key = p_dedupe_key and dedupe_pending is not true
        union all
        select id, fence, chain_id from rolecall.tasks where dedupe_key = p_dedupe_key and dedupe_pending
    ) as task
    where task.fence = 0 or (v_scope <> 'pending' and task.chain_id is distinct from v_except);
    if v_id is null and v_scope = 'any' then
        v_id := rolecall.find_ended_twin(p_dedupe_key, rolecall.clock() - make_interval(secs => (p_dedupe ->> 'window')::float8), array[
            v_except, (select origin.chain_id from rolecall.find_finished(array[p_place.origin_id]) as origin limit 1)
        ]);
    end if;
    return v_id;
end
$$;
