-- Runs one task of a drain, and does not let an interruption of the session keep the task.
-- returns: one row: why the claim was lost or the attempt failed, as run_procedure says; interruption: the message, where the
--          session was told to stop
-- raises: nothing
-- locks: as run_procedure does
-- notifies: as run_procedure does
create or replace function rolecall.run_for_drain(p_worker_id bigint, p_id bigint, p_fence int, p_owns_transaction boolean)
returns table (lost text, error text, interruption text, code text)
language plpgsql
volatile
set search_path = ''
as $$
begin
    select run.lost, run.error into lost, error
    from rolecall.run_procedure(p_worker_id, p_id, p_fence, p_owns_transaction) as run;
    return next;
exception when query_canceled or others then
    interruption := sqlerrm;
    code := sqlstate;
    return next;
end
$$;
