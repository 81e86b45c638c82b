-- Finds the newest ended task that stands for a new one with the same dedupe_key, because it was created within the window of that; not
-- one of the chains that do not count.
-- returns: the task's id, or null
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.find_ended_twin(p_dedupe_key text, p_since timestamptz, p_but_chains bigint[])
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
