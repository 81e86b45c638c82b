-- Deletes tasks, open and finished, with what is stored about them, and frees their keys.
-- returns: nothing
-- raises: nothing
-- locks: finished tasks; the caller holds the open ones; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.forget_tasks(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_workers bigint[];
    v_keys text[];
begin
    -- Finished ones first: one that a retry brings back meanwhile is found among the open ones.
    delete from rolecall.finished_tasks as task where task.id = any(p_ids);
    with gone as (
        delete from rolecall.tasks as task where task.id = any(p_ids) returning task.worker_id, task.key
    )
    select array_agg(gone.worker_id), array_agg(distinct gone.key) filter (where gone.key is not null) into v_workers, v_keys
    from gone;
    delete from rolecall.needs as need where need.task_id = any(p_ids);
    delete from rolecall.task_events as event where event.task_id = any(p_ids);
    delete from rolecall.task_tokens as token where token.task_id = any(p_ids);
    perform rolecall.tell_workers(v_workers);
    perform rolecall.unpark_heads(v_keys);
end
$$;
