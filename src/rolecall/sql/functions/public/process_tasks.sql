-- Works off what SQL handlers can do of a role (null: of every role), as a worker of its own: one task after the other, children and
-- their parents included, until nothing is left that may run now, or enough is done. It commits after each claim and each task;
-- inside a transaction of its caller it never does, and that transaction's end decides about everything. p_commit says which,
-- null finds out.
-- returns: nothing; a notice tells how many tasks
-- raises: RC031 unknown role, RC050 wrong isolation level; 57014 where it was told to stop, with the task given back
-- locks: as claim and run_procedure do
-- notifies: as claim and run_procedure do
create or replace procedure rolecall.process_tasks(
    p_role text default null, p_max_tasks int default null, p_max_runtime interval default null, p_commit boolean default null
)
language plpgsql
as $$
declare
    v_ends timestamptz := clock_timestamp() + p_max_runtime;
    v_done int := 0;
    v_failed int := 0;
    v_commits boolean;
    v_worker_id bigint;
    v_claim record;
    v_error text;
    v_interruption text;
    v_code text;
begin
    -- In a block with an exception handler nobody may commit, but who might elsewhere is told so in other words.
    begin
        commit;
    exception when invalid_transaction_termination then
        v_commits := coalesce(p_commit, sqlerrm <> rolecall.refusal_of_commit());
    end;
    if v_commits then
        perform rolecall.rescue();
    end if;
    v_worker_id := rolecall.open_drain(p_role);
    loop
        if v_commits then
            commit;
            -- A claim that a crash of the server undoes is made again: only what the tasks did must wait for the disk.
            perform set_config('synchronous_commit', 'off', true);
        end if;
        exit when v_done >= p_max_tasks or clock_timestamp() >= v_ends;
        select * into v_claim from rolecall.claim_for_drain(v_worker_id, p_role);
        exit when v_claim.id is null;
        perform rolecall.run_before_hook(v_worker_id, v_claim.id, v_claim.fence);
        if v_commits then
            commit;
        end if;
        select run.error, run.interruption, run.code into v_error, v_interruption, v_code
        from rolecall.run_for_drain(v_worker_id, v_claim.id, v_claim.fence, v_commits) as run;
        exit when v_interruption is not null;
        v_done := v_done + 1;
        v_failed := v_failed + (v_error is not null)::int;
    end loop;
    perform rolecall.deregister_worker(v_worker_id);
    if v_interruption is not null then
        if v_commits then
            commit;
        end if;
        raise exception using errcode = v_code, message = v_interruption;
    end if;
    raise notice '% tasks processed, % of them failed', v_done, v_failed;
end
$$;
