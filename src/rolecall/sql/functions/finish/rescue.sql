-- Rescues tasks whose lease has expired and has not been renewed for p_silent_for. After a restart or
-- failover of the server, or a step of its clock, waits for one lease, so that living workers can renew
-- theirs. Tasks that an open transaction holds are left to the next rescue. Pending tasks that have been
-- incompatible with every worker for an hour fail. Ends sessions that still work on a task that they have
-- lost, or whose worker is gone.
-- returns: one row per rescued task, with its new state
-- raises: RC050 wrong isolation level
-- locks: tasks rows, skipping locked rows; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.rescue(p_limit int default 1000, p_silent_for interval default '0 s')
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_expired jsonb;
begin
    perform rolecall.require_read_committed();
    select jsonb_agg(lost) into v_expired
    from (
        select * from rolecall.expired_claims(p_limit, p_silent_for)
        union all
        select * from rolecall.unfitting_tasks(p_limit)
    ) as found (lost);
    if v_expired is null then
        perform rolecall.end_sessions('{}');
        return;
    end if;
    return query select * from rolecall.rescue_claims(v_expired);
end
$$;

-- Finds the claims with expired leases, for a rescue in two steps: rescue_found takes those that are still
-- not renewed after a wait. If the server itself was frozen, the leases of all workers expire at once, and
-- the wait lets the living workers renew them.
-- returns: one row: the claims, and how many seconds to wait: ten, or the longest of their leases if that
-- is shorter
-- locks: the server_epoch row, if the server has changed
-- public: yes
create or replace function rolecall.find_expired(p_limit int default 100000)
returns table (ids bigint[], fences int[], wait_seconds float8)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_drained bigint[] := array(
        select session.task_id from rolecall.procedure_sessions() as session where session.is_drain
    );
begin
    return query
    select coalesce(array_agg(expired.id), '{}'), coalesce(array_agg(expired.fence), '{}'),
        coalesce(extract(epoch from least('10 s', max(expired.lease))), 0)::float8
    from (
        select task.id, task.fence, setting.lease
        from rolecall.tasks as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        where task.state = 'running' and task.lease_until < v_now and v_up_since + setting.lease < v_now
            and (task.id <> all(v_drained) or task.deadline_at <= v_now)
        limit p_limit
    ) as expired;
end
$$;

-- Rescues those of the given claims whose leases have expired and were not renewed since they were found.
-- Tasks that an open transaction holds are left to the next rescue. Pending tasks that have been
-- incompatible with every worker for an hour fail. Ends sessions that still work on a task that they have
-- lost, or whose worker is gone.
-- returns: one row per rescued task, with its new state
-- raises: RC050 wrong isolation level
-- locks: tasks rows, skipping locked rows; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.rescue_found(p_ids bigint[], p_fences int[])
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_claims jsonb;
begin
    perform rolecall.require_read_committed();
    select jsonb_agg(lost) into v_claims
    from (
        select rolecall.loss_of(
            held.task, 'the lease ran out: its worker crashed, hung or lost the database', v_now
        )
        from (
            select task
            from unnest(p_ids, p_fences) as found (id, fence)
            join rolecall.tasks as task on task.id = found.id and task.fence = found.fence
            where task.state = 'running' and task.lease_until < v_now
            for update of task skip locked
        ) as held
        union all
        select * from rolecall.unfitting_tasks(1000)
    ) as found (lost);
    if v_claims is null then
        perform rolecall.end_sessions('{}');
        return;
    end if;
    return query select * from rolecall.rescue_claims(v_claims);
end
$$;

-- Rescues all tasks that dead workers hold and removes the workers from the registry, immediately. The
-- caller must have proof of each worker's death: otherwise the handlers of a living worker would run at the
-- same time as the next attempts of their tasks. For workers that may be alive, use rescue_harmless. Ends
-- the sessions in which these workers complete tasks.
-- returns: one row per rescued task, with its new state; tasks that an open transaction holds are left to
-- the next call, or to the lease
-- raises: RC050 wrong isolation level
-- locks: workers rows, then tasks rows, skipping locked rows; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role; rolecall_cancel and rolecall_command with
-- each worker's id
-- public: yes
create or replace function rolecall.rescue_workers(p_worker_ids bigint[], p_limit int default 1000)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_claims jsonb;
begin
    perform rolecall.require_read_committed();
    p_worker_ids := rolecall.own_workers(p_worker_ids);
    perform rolecall.strike_off(p_worker_ids);
    perform rolecall.end_session(session.pid, session.worker_id, session.task_id, '1 s')
    from rolecall.completing_sessions() as session
    where session.worker_id = any(p_worker_ids);
    select jsonb_agg(lost) into v_claims
    from rolecall.claims_of_workers(p_worker_ids, p_limit) as found (lost);
    if v_claims is not null then
        return query select * from rolecall.rescue_claims(v_claims);
    end if;
end
$$;

-- Removes workers that are probably dead from the registry and rescues those of their claims that may run
-- twice, as harmless_claims finds them. The others wait for their leases to expire. For workers without a
-- session, which may only have lost their connections.
-- returns: one row per rescued task, with its new state
-- raises: RC050 wrong isolation level
-- locks: workers rows, then tasks rows, skipping locked rows; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role; rolecall_cancel and rolecall_command with
-- each worker's id
-- public: yes
create or replace function rolecall.rescue_harmless(p_worker_ids bigint[], p_limit int default 1000)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
set jit = off
set enable_seqscan = off
as $$
declare
    v_claims jsonb;
begin
    perform rolecall.require_read_committed();
    perform rolecall.strike_off(p_worker_ids);
    select jsonb_agg(rolecall.loss_of(held.task, 'its worker has no session left', rolecall.clock()))
    into v_claims
    from (
        select task
        from rolecall.tasks as task
        where task.id = any(array(select rolecall.harmless_claims(p_worker_ids)))
            and task.state = 'running' and task.worker_id = any(p_worker_ids)
        order by task.id
        limit p_limit
        for update of task skip locked
    ) as held;
    if v_claims is not null then
        return query select * from rolecall.rescue_claims(v_claims);
    end if;
end
$$;

-- Finds the claims that can be rescued even if their worker is alive: claims that have not started, because
-- a worker neither starts nor runs a task later than ten seconds after its last confirmed renewal; and
-- claims without a key and with another attempt left in an idempotent role.
-- returns: the ids of their tasks
create or replace function rolecall.harmless_claims(p_worker_ids bigint[])
returns setof bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select task.id
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    join rolecall.roles as role on role.name = line.role
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    where task.state = 'running' and task.worker_id = any(p_worker_ids)
        and case
            -- The start of a lease that was cut short by the deadline is unknown.
            when task.started_at is null
                then task.lease_until - setting.lease < rolecall.clock() - interval '10 s'
                    and task.lease_until < task.deadline_at
            else role.idempotent and task.key is null
                and (task.max_attempts > task.attempt) is not false
        end
$$;

-- Removes workers from the registry that did not deregister themselves, and notifies them in case they are
-- alive.
-- locks: workers rows, skipping locked rows: the session that holds the lock shows that the worker is alive
-- notifies: rolecall_cancel and rolecall_command with each worker's id
create or replace function rolecall.strike_off(p_worker_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_struck bigint[] := array(
        select worker.id from rolecall.workers as worker
        where worker.id = any(p_worker_ids) and worker.stopped_at is null
        order by worker.id
        for update skip locked
    );
begin
    if v_struck = '{}' then
        return;
    end if;
    update rolecall.workers as worker
    set stopped_at = rolecall.clock(), is_dead = true, held = 0, unseen_since = null
    where worker.id = any(v_struck);
    perform rolecall.set_idle_mark(struck.id, false), rolecall.notify('rolecall_command', struck.id::text)
    from unnest(v_struck) as struck (id);
    perform rolecall.tell_workers(v_struck);
end
$$;

-- Locks the claims of workers for a rescue, regardless of their leases.
-- returns: one document per claim, as return_tasks takes it
-- locks: tasks rows, skipping locked rows
create or replace function rolecall.claims_of_workers(p_worker_ids bigint[], p_limit int)
returns setof jsonb
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select rolecall.loss_of(task, 'its worker died', rolecall.clock())
    from rolecall.tasks as task
    where task.state = 'running' and task.worker_id = any(p_worker_ids)
    order by task.id
    limit p_limit
    for update of task skip locked
$$;

-- Describes the loss of a claim that ends without its own report.
-- returns: a document as return_tasks takes it
create or replace function rolecall.loss_of(p_task rolecall.tasks, p_error text, p_now timestamptz)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_build_object('id', p_task.id) || case
        when p_task.cancel_requested_at is not null then '{"reason": "cancelled"}'
        when p_task.deadline_at <= p_now then '{"reason": "timeout", "error": "the deadline passed"}'
        else jsonb_build_object('reason', 'crashed', 'error', p_error)
    end
$$;

-- Releases rescued or expired claims and applies the consequences. Tasks that others block are left to the
-- next call.
-- returns: one row per rescued task, with its new state
-- locks: as try_to_rescue, waiting only briefly
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.rescue_claims(p_claims jsonb)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.require_durability();
    begin
        return query select * from rolecall.try_to_rescue(p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        -- Another transaction holds something that one of them needs: now try them separately.
        null;
    end;
    return query
    select apart.task_id, apart.state
    from rolecall.rescue_apart(
        rolecall.children_together(p_claims), clock_timestamp() + interval '1 s'
    ) as apart;
end
$$;

-- Locks claims for a rescue: their lease has expired, they were not renewed for p_silent_for, and the
-- server has been up for the duration of a lease. Claims of SQL workers are excluded: the end of their
-- session rolls them back, which is more reliable than a lease.
-- returns: one document per claim, as return_tasks takes it
-- locks: tasks rows, skipping locked rows
create or replace function rolecall.expired_claims(p_limit int, p_silent_for interval)
returns setof jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_drained bigint[] := array(
        select session.task_id from rolecall.procedure_sessions() as session where session.is_drain
    );
begin
    return query
    select rolecall.loss_of(
        task, 'the lease ran out: its worker crashed, hung or lost the database', v_now
    )
    from rolecall.tasks as task
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    where task.state = 'running' and task.lease_until < v_now and v_up_since + setting.lease < v_now
        and task.lease_until - setting.lease <= v_now - p_silent_for
        and (task.id <> all(v_drained) or task.deadline_at <= v_now)
    -- In random order, so that rows that stay locked do not hide all others.
    order by random()
    limit p_limit
    for update of task skip locked;
end
$$;

-- Locks pending tasks that have been incompatible with every worker for an hour, which is longer than the
-- rollout of a release takes.
-- returns: one document per task, as return_tasks takes it
-- locks: tasks rows, skipping locked rows
create or replace function rolecall.unfitting_tasks(p_limit int)
returns setof jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
begin
    return query
    select jsonb_build_object('id', old.id, 'reason', 'misfit', 'final', true, 'error', old.error)
    from rolecall.lines as line
    cross join lateral (
        select task.id, task.error
        from rolecall.tasks as task
        where task.line_id = line.id and task.state = 'pending' and not task.parked
            and task.scheduled_for <= v_now
            and greatest(rolecall.unfit_since(task.id), v_up_since) < v_now - interval '1 hour'
        order by task.scheduled_for, task.id
        limit p_limit
        for update skip locked
    ) as old
    where line.misfit_for <> '{}'
    limit p_limit;
end
$$;

-- Releases the claims that can be released without waiting: all of them together, or each half separately.
-- Blocked ones are left to the next rescue.
-- returns: one row per rescued task, with its new state
-- locks: as try_to_rescue, waiting only briefly
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.rescue_apart(p_expired jsonb, p_until timestamptz)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '10ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_rescue(p_expired);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_expired) > 1
        and clock_timestamp() < p_until
        and not rolecall.have_one_parent(p_expired) then
        return query
        select apart.task_id, apart.state
        from rolecall.halves(p_expired) as half
        cross join lateral rolecall.rescue_apart(half, p_until) as apart;
    end if;
end
$$;

-- Releases rescued or expired claims, unless a lock wait timed out or a related task appeared in the
-- meantime.
-- returns: one row per rescued task, with its new state
-- raises: 55P03, RC090 roll back and try again
-- locks: the caller holds the tasks; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.try_to_rescue(p_expired jsonb)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_returned record;
begin
    if rolecall.collects_events() then
        perform rolecall.note_open(
            'job_reaped', array(
                select (lost -> 'id')::bigint from jsonb_array_elements(p_expired) as lost
                where lost ->> 'reason' <> 'expired'
            )
        );
    end if;
    select * into v_returned from rolecall.return_tasks(p_expired);
    perform rolecall.end_sessions(v_returned.ids);
    perform rolecall.conclude(v_returned.endings, v_returned.keys);
    return query select * from unnest(v_returned.ids, v_returned.states);
end
$$;
