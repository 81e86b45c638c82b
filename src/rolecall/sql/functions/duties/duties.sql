-- Reports the state of maintenance duties to a process: which are due, when the next of the others is due
-- (in seconds; null: none is known), whether this process ran the last one, how many workers are registered
-- (20 means 20 or more), and the latest id among them. Also returns the server's clock, in seconds since
-- 1970, and how often it was set, for report_clock_step.
-- returns: one row
-- public: yes
create or replace function rolecall.look_at_duties(p_names text[], p_by text)
returns table (
    due text[], next_in float8, did_last boolean, workers int, latest_worker bigint,
    server_time float8, clock_steps int
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    -- The server's own time: duties keep their pace even if a test changes the clock of tasks.
    v_now constant timestamptz := clock_timestamp();
    v_clock constant timestamptz := rolecall.clock();
    v_called constant text[] := rolecall.duties_called_for();
    v_next_expiry constant timestamptz := rolecall.next_expiry();
begin
    select
        array_agg(given.name order by given.place) filter (
            where duty.rests is not true or given.name = any(v_called)
        ),
        extract(epoch from least(
            min(duty.next_at) filter (where duty.rests) - v_now,
            (select min(next_run_at) from rolecall.schedules where enabled and next_run_at > v_clock)
                - v_clock,
            (select min(paused_until) from rolecall.roles where paused_until > v_clock) - v_clock,
            (select min(bulk.next_at) from rolecall.bulk_actions as bulk where bulk.next_at > v_clock)
                - v_clock,
            case when v_next_expiry > v_clock then v_next_expiry - v_clock end
        ))::float8,
        coalesce((array_agg(duty.done_by order by duty.done_at desc nulls last))[1] = p_by, false)
    into due, next_in, did_last
    from unnest(p_names) with ordinality as given (name, place)
    left join lateral (
        select one.done_by, one.next_at, one.next_at - one.every as done_at,
            v_now >= one.next_at - one.every and v_now < one.next_at as rests
        from rolecall.duties as one
        where one.name = given.name
    ) as duty on true;
    due := coalesce(due, '{}');
    workers := (
        select count(*)
        from (select from rolecall.workers as worker where worker.stopped_at is null limit 20) as alive
    );
    latest_worker := (select max(worker.id) from rolecall.workers as worker);
    server_time := extract(epoch from v_now);
    clock_steps := coalesce((select epoch.clock_steps from rolecall.server_epoch as epoch), 0);
    return next;
end
$$;

-- Takes a duty that is due: no other process gets it for p_every seconds. A process that runs the duty in
-- the same transaction holds the row until the commit; if that fails, the duty is still due.
-- returns: whether the duty was due and no other process is taking it
-- locks: the duties row, skipping it if it is locked
-- public: yes
create or replace function rolecall.take_duty(p_name text, p_every float8, p_by text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_every constant interval := make_interval(secs => p_every);
    v_duty rolecall.duties;
begin
    if not exists (select from rolecall.duties where name = p_name) then
        insert into rolecall.duties (name, every, next_at, done_by, unfinished_since)
        values (p_name, v_every, v_now + v_every, p_by, v_now)
        on conflict do nothing;
        return found;
    end if;
    select * into v_duty from rolecall.duties where name = p_name for update skip locked;
    if not found or v_now >= v_duty.next_at - v_duty.every and v_now < v_duty.next_at
        and p_name <> all(rolecall.duties_called_for()) then
        return false;
    end if;
    update rolecall.duties
    set every = v_every, next_at = v_now + v_every, done_by = p_by,
        unfinished_since = coalesce(unfinished_since, v_now)
    where name = p_name;
    return true;
end
$$;

-- Records the outcome of a duty's run: success, or the error that ended it. Records nothing while another
-- process takes the duty, because that run is recorded later.
-- locks: the duties row, skipping it if it is locked
-- public: yes
create or replace function rolecall.record_duty(
    p_name text, p_every float8, p_by text, p_error text default null
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := clock_timestamp();
begin
    if not exists (select from rolecall.duties where name = p_name) then
        -- The very first run failed in its first statement: the duty is still due.
        insert into rolecall.duties (name, every, next_at, done_by, unfinished_since)
        values (p_name, make_interval(secs => p_every), v_now, p_by, v_now)
        on conflict do nothing;
    end if;
    update rolecall.duties as duty
    set succeeded_at = case when p_error is null then v_now else duty.succeeded_at end,
        unfinished_since = case when p_error is not null then coalesce(duty.unfinished_since, v_now) end,
        error = left(p_error, 500)
    where duty.name = (
        select one.name from rolecall.duties as one where one.name = p_name for update skip locked
    );
end
$$;

-- Reports the state of all duties, by the server's own clock.
-- returns: one row for each duty that was ever begun: its interval; how long it has been overdue; how long
-- no run of it has succeeded although one was begun (0: the last one did); when it last succeeded; the
-- error of its latest run, null if that succeeded
-- public: yes
create or replace function rolecall.duties_now()
returns table (
    name text, every float8, overdue float8, unfinished float8, succeeded_at timestamptz, error text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := clock_timestamp();
begin
    return query
    select name, extract(epoch from every)::float8,
        greatest(extract(epoch from v_now - next_at), 0)::float8,
        case
            when unfinished_since is not null then greatest(extract(epoch from v_now - unfinished_since), 0)
        end::float8,
        succeeded_at, error
    from rolecall.duties
    order by name;
end
$$;

-- Lists the duties that are needed early: a schedule or a batch of a bulk action is due, a pause has
-- expired, or a task has expired.
-- returns: their names
create or replace function rolecall.duties_called_for()
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_clock constant timestamptz := rolecall.clock();
    v_names text[] := '{}';
begin
    if exists (select from rolecall.schedules where enabled and next_run_at <= v_clock) then
        v_names := v_names || text 'schedules';
    end if;
    if exists (select from rolecall.roles where paused_until <= v_clock) then
        v_names := v_names || text 'pauses';
    end if;
    if exists (select from rolecall.bulk_actions where next_at <= v_clock) then
        v_names := v_names || text 'bulk';
    end if;
    if rolecall.next_expiry() <= v_clock then
        v_names := v_names || text 'expiry';
    end if;
    return v_names;
end
$$;

-- Returns when the next task expires.
-- returns: the time, which may be in the past; null if no task expires
create or replace function rolecall.next_expiry()
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
    return (
        select task.expires_at
        from rolecall.tasks as task
        where task.state in ('blocked', 'pending') and task.expires_at is not null
        order by task.expires_at
        limit 1
    );
end
$$;
