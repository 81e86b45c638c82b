-- Runs the tasks of a role's SQL handlers (null: of all roles) as a separate worker: one task after the
-- other, including children and their parents, until no task can run now or a limit is reached. Commits
-- after each claim and each task. If the caller holds a transaction open, it never commits, and all of the
-- work depends on that transaction. p_commit states which of these applies; null detects it. p_queue is a
-- second name of p_role.
-- returns: nothing; a notice reports the number of tasks
-- raises: RC031 unknown role, RC041 p_role and p_queue differ, RC050 wrong isolation level; 57014 if it was
-- interrupted, with the task given back
-- locks: as claim and run_procedure do
-- notifies: as claim and run_procedure do
-- public: yes
create or replace procedure rolecall.process_tasks(
    p_role text default null, p_max_tasks int default null, p_max_runtime interval default null,
    p_commit boolean default null, p_queue text default null
)
language plpgsql
as $$
declare
    v_role text := coalesce(p_role, p_queue);
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
    if p_queue <> v_role then
        perform rolecall.refuse('RC041', 'p_queue is a second name of p_role: give one of them');
    end if;
    -- A commit always fails in a block with an exception handler, but with a different message if it would
    -- be possible elsewhere.
    begin
        commit;
    exception when invalid_transaction_termination then
        v_commits := coalesce(p_commit, sqlerrm <> rolecall.refusal_of_commit());
    end;
    if v_commits then
        perform rolecall.rescue();
        perform rolecall.expire();
    end if;
    v_worker_id := rolecall.open_drain(v_role);
    loop
        if v_commits then
            commit;
            -- A claim that a server crash undoes can be repeated, so only the tasks' own work has to be
            -- durable.
            perform set_config('synchronous_commit', 'off', true);
        end if;
        exit when v_done >= p_max_tasks or clock_timestamp() >= v_ends;
        select * into v_claim from rolecall.claim_for_drain(v_worker_id, v_role);
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

-- Returns Postgres's message, in the session's language, for a transaction that the called code cannot
-- commit: always in a function, and in a procedure if its caller holds the transaction open.
-- returns: the message
create or replace function rolecall.refusal_of_commit()
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    commit;
exception when invalid_transaction_termination then
    return sqlerrm;
end
$$;

-- Registers this session as a SQL worker. It has no host, because it runs in the database.
-- returns: the worker's id
-- raises: RC031 unknown role
-- locks: as register_worker
create or replace function rolecall.open_drain(p_role text)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_role is not null and not exists (select from rolecall.roles where name = p_role) then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    return rolecall.register_worker(
        format('drain-%s', pg_backend_pid()), array_remove(array[p_role], null),
        array(select name from rolecall.procedures), 1, null, pg_backend_pid(), 'sql'
    );
end
$$;

-- Claims the next task of a SQL worker: of any SQL handler, including newly declared ones.
-- returns: the claim; no row if no task can run now, or if this worker was commanded to take no more
-- raises: RC050 wrong isolation level
-- locks: as claim does; the workers row
-- notifies: as claim does
create or replace function rolecall.claim_for_drain(p_worker_id bigint, p_role text)
returns table (id bigint, fence int)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_roles text[] := array_remove(array[p_role], null);
    v_handlers text[] := array(select name from rolecall.procedures);
    v_turn int;
begin
    if exists (
        select from rolecall.workers where workers.id = p_worker_id and workers.command is not null
    ) then
        return;
    end if;
    for v_turn in 1..2 loop
        return query
        select claimed.id, claimed.fence from rolecall.claim(p_worker_id, v_roles, v_handlers, 1) as claimed;
        exit when found;
        -- A SQL worker may end only if nothing is left below the session's watermarks either, such as a
        -- parent that continues.
        perform set_config('rolecall.floor_' || line.id, '', false) from rolecall.lines as line;
    end loop;
    update rolecall.workers as worker
    set heartbeat_at = rolecall.clock()
    where worker.id = p_worker_id and worker.heartbeat_at < rolecall.clock() - interval '10 s';
end
$$;

-- Runs one task of a SQL worker, and gives it back if the session is interrupted.
-- returns: one row: why the claim was lost or the attempt failed, as run_procedure returns it; interruption
-- = the message, if the session was interrupted
-- raises: RC050 wrong isolation level
-- locks: as run_procedure does
-- notifies: as run_procedure does
create or replace function rolecall.run_for_drain(
    p_worker_id bigint, p_id bigint, p_fence int, p_owns_transaction boolean
)
returns table (lost text, error text, interruption text, code text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
