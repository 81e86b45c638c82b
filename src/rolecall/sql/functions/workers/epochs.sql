-- Returns since when leases count: since workers have observed this server, and since its clock was set. Both
-- a restart and a failover reset it, because a standby that takes over has a different start time.
-- returns: the time of the first call on this server, or of the last step of its clock
-- locks: the server_epoch row, if the server has changed
create or replace function rolecall.server_up_since()
returns timestamptz
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_seen_at timestamptz := rolecall.epoch_began_at();
begin
    if v_seen_at is null then
        insert into rolecall.server_epoch as epoch (postmaster_started_at, seen_at)
        values (pg_postmaster_start_time(), rolecall.clock())
        on conflict (only_row) do update
        set postmaster_started_at = excluded.postmaster_started_at, seen_at = excluded.seen_at
        returning epoch.seen_at into v_seen_at;
    end if;
    return v_seen_at;
end
$$;

-- Returns what server_up_since returns, and changes nothing.
-- returns: null if server_up_since was not called yet on this server, or if its clock was set back to before
create or replace function rolecall.epoch_began_at()
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select epoch.seen_at
    from rolecall.server_epoch as epoch
    where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.seen_at <= rolecall.clock()
$$;

-- Reports that the server's clock was set: between two calls of look_at_duties it advanced by p_seconds more
-- than the monotonic clock of the caller (less: negative). p_steps is clock_steps of the first call.
-- The clock read at most p_after before it was set, and at least p_before afterwards (seconds since 1970).
-- Nothing is rescued for one lease, and the deadlines of claimed tasks move with the clock. A task that an
-- open transaction holds keeps its deadline.
-- The report is compared with heartbeats: one from the skipped time shows that the caller was suspended, and
-- a clock that was set back is behind the latest one by as much.
-- returns: whether the step was applied: false if others have reported it, or heartbeats contradict it
-- locks: the server_epoch row; tasks rows, skipping locked rows
-- public: yes
create or replace function rolecall.report_clock_step(
    p_steps int, p_seconds float8, p_after float8, p_before float8
)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_step interval := make_interval(secs => p_seconds);
    v_after timestamptz := to_timestamp(p_after);
    v_before timestamptz := to_timestamp(p_before);
begin
    if p_seconds < 0 then
        v_step := greatest(v_step, v_now - rolecall.latest_sign_of_life());
    elsif exists (
        select from rolecall.workers as worker
        where worker.heartbeat_at > v_after and worker.heartbeat_at < v_before
    ) then
        return false;
    end if;
    if sign(p_seconds) <> sign(extract(epoch from v_step)) then
        return false;
    end if;
    update rolecall.server_epoch as epoch
    set clock_steps = epoch.clock_steps + 1, seen_at = v_now
    where epoch.clock_steps = p_steps;
    if not found then
        return false;
    end if;
    with held as materialized (
        select task.id, setting.lease
        from rolecall.tasks as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        where task.state = 'running' and case
            -- A claim that was made after the step already has the right times.
            when p_seconds > 0 then task.claimed_at < greatest(v_after, v_before)
            else task.claimed_at < v_before or task.claimed_at > v_now
        end
        for update of task skip locked
    )
    update rolecall.tasks as task
    set deadline_at = task.deadline_at + v_step,
        lease_until = least(task.lease_until, task.deadline_at + v_step, v_now + held.lease)
    from held
    where task.id = held.id;
    return true;
end
$$;

-- Returns the latest time at which a worker sent a heartbeat or a duty was taken.
create or replace function rolecall.latest_sign_of_life()
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select greatest(
        (select max(worker.heartbeat_at) from rolecall.workers as worker),
        (select max(duty.next_at - duty.every) from rolecall.duties as duty)
    )
$$;
