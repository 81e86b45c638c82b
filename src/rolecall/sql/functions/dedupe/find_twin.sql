-- Finds the newest task that stands for a new one with the same dedupe_key. What has been claimed, or has
-- ended, of a chain that does not count is passed over: that which the new one says, and that of the task
-- that enqueues it as it completes.
-- returns: the task's id, or null
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
        select id, fence, chain_id
        from rolecall.tasks
        where dedupe_key = p_dedupe_key and dedupe_pending is not true
        union all
        select id, fence, chain_id from rolecall.tasks where dedupe_key = p_dedupe_key and dedupe_pending
    ) as task
    where task.fence = 0 or (v_scope <> 'pending' and task.chain_id is distinct from v_except);
    if v_id is null and v_scope = 'any' then
        v_id := rolecall.find_ended_twin(
            p_dedupe_key,
            rolecall.clock() - make_interval(secs => (p_dedupe ->> 'window')::float8),
            array[
                v_except,
                (
                    select origin.chain_id
                    from rolecall.find_finished(array[p_place.origin_id]) as origin
                    limit 1
                )
            ]
        );
    end if;
    return v_id;
end
$$;

-- Finds the newest ended task that stands for a new one with the same dedupe_key, because it was created
-- within the window of that; not one of the chains that do not count.
-- returns: the task's id, or null
create or replace function rolecall.find_ended_twin(
    p_dedupe_key text, p_since timestamptz, p_but_chains bigint[]
)
returns bigint
language plpgsql
volatile
set search_path = ''
-- Nothing ends before it is created: a plan for this very moment leaves out the days before.
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
as $$
begin
    return (
        select task.id
        from rolecall.finished_tasks as task
        where task.dedupe_key = p_dedupe_key and task.created_at > p_since and task.finished_at > p_since
            and (task.chain_id = any(p_but_chains)) is not true
        order by task.created_at desc, task.id desc
        limit 1
    );
end
$$;
