-- Tells a process how it stands with some duties of the pool: which are due, in how many seconds the next of
-- the others is (null: nothing is known to come), whether this process did the last one, how many workers are
-- on the roll (twenty stand for all that are more), and the latest id there.
-- returns: one row
-- public: yes
create or replace function rolecall.look_at_duties(p_names text[], p_by text)
returns table (due text[], next_in float8, did_last boolean, workers int, latest_worker bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    -- The server's own time: a duty keeps its pace, whatever a test makes of the clock that tasks go by.
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
    return next;
end
$$;

-- Takes a duty of the pool that is due, as its turn: nobody else has it for p_every seconds then. Whoever
-- begins the duty in the same transaction has its row until the commit, and where he fails or dies it is due
-- as before.
-- returns: whether it was due, and nobody else is just taking it
-- locks: the duties row, skipping it where it is locked
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
        insert into rolecall.duties (name, every, next_at, done_by)
        values (p_name, v_every, v_now + v_every, p_by)
        on conflict do nothing;
        return found;
    end if;
    select * into v_duty from rolecall.duties where name = p_name for update skip locked;
    if not found or v_now >= v_duty.next_at - v_duty.every and v_now < v_duty.next_at
        and p_name <> all(rolecall.duties_called_for()) then
        return false;
    end if;
    update rolecall.duties set every = v_every, next_at = v_now + v_every, done_by = p_by where name = p_name;
    return true;
end
$$;

-- Names the duties that are called for before their time: a schedule is due, a pause is over, a task has
-- expired.
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
    if rolecall.next_expiry() <= v_clock then
        v_names := v_names || text 'expiry';
    end if;
    return v_names;
end
$$;

-- Says when the next task expires.
-- returns: the moment, which may have passed; null where none does
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
