-- Runs a claimed task whose handler is a procedure of the database and ends the claim: what the procedure did and the completion
-- commit together, an error undoes it and is reported as a failed attempt. Deadlocks and serialization failures are tried again
-- up to three times first.
-- returns: one row: why the claim was lost, if it was; else the error of a failed attempt, if it failed
-- raises: RC050 wrong isolation level
-- locks: what the procedure locks; then as finish does
-- notifies: what the procedure notifies; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.run_procedure(
    p_worker_id bigint, p_id bigint, p_fence int, p_owns_transaction boolean default true
)
returns table (lost text, error text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_most_retries constant int := 3;
    v_retry int := 0;
    v_tried record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.name_session(p_worker_id, p_id);
    loop
        select * into v_tried from rolecall.try_procedure(p_worker_id, p_id, p_fence, p_owns_transaction);
        exit when (v_tried.code in ('40P01', '40001')) is not true or v_retry = v_most_retries;
        v_retry := v_retry + 1;
        perform pg_sleep(0.1 * 2 ^ (v_retry - 1) + 0.05 * random());
    end loop;
    lost := v_tried.lost;
    error := case v_tried.code
        when '40P01' then format(e'Deadlock detected after %s retries\n%s', v_retry, v_tried.error)
        when '40001' then format(e'Serialization failure after %s retries\n%s', v_retry, v_tried.error)
        else v_tried.error
    end;
    if error is not null then
        select finished.verdict into lost
        from rolecall.finish(p_worker_id, jsonb_build_array(jsonb_build_object(
            'id', p_id, 'fence', p_fence, 'outcome', 'failed', 'error', left(error, 8000)
        ))) as finished;
    elsif lost is null then
        perform rolecall.run_after_hooks(array[p_id]);
    end if;
    perform set_config('rolecall.task', '', true);
    return next;
end
$$;
