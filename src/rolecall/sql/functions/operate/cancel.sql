-- Cancels tasks and all open tasks below them: immediately, or, if a task is running, by notifying its
-- worker.
-- returns: one row per given id: cancelled, requested (it was running), finished (already), missing
-- raises: RC050 wrong isolation level; RC051 another transaction holds rows that it needs
-- locks: running tasks and those without a key in id order; keys of the others in order, then those tasks
-- notifies: rolecall_cancel with the worker's id
-- public: yes
create or replace function rolecall.cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_began constant timestamptz := clock_timestamp();
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_cancel(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks have been released: the next try includes new tasks, and requests cancellation of
            -- claimed ones.
            perform rolecall.wait_a_while(v_began);
        end;
    end loop;
end
$$;

-- Cancels tasks with all open tasks below them, unless one appeared or was claimed while this call waited
-- for locks.
-- returns: one row per given id: cancelled, requested (it was running), finished (already), missing
-- raises: RC090 one appeared or was claimed: roll back and try again, because locking it now would be out
-- of order
-- locks: running tasks and those without a key, the deepest first, in id order; keys of the others in key
-- order, then those tasks
-- notifies: rolecall_cancel with the worker's id
create or replace function rolecall.try_to_cancel(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_all bigint[] := rolecall.with_open_descendants(p_ids);
    v_requested bigint[];
    v_losses jsonb;
    v_returned record;
begin
    perform rolecall.hold_tasks(v_all);
    v_requested := rolecall.request_cancellation(v_all);
    select jsonb_agg(jsonb_build_object('id', task.id, 'reason', 'cancelled')) into v_losses
    from rolecall.tasks as task
    where task.id = any(v_all) and task.state <> 'running';
    select * into v_returned from rolecall.return_tasks(v_losses);
    v_all := rolecall.with_open_descendants(v_all);
    if exists (select from rolecall.tasks where id = any(v_all) and id <> all(v_requested)) then
        perform rolecall.refuse('RC090', 'a task appeared or was claimed while this call waited for locks');
    end if;
    perform rolecall.conclude(v_returned.endings, v_returned.keys);
    return query
    select given.id, case
        when given.id = any(v_requested) then 'requested'
        when given.id = any(v_returned.ids) then 'cancelled'
        when exists (select from rolecall.find_finished(array[given.id])) then 'finished'
        else 'missing'
    end
    from unnest(p_ids) as given (id);
end
$$;
