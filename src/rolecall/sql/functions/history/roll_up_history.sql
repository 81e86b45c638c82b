-- Adds to the history what has finished since the last time, up to where nothing can finish any more, in
-- whole bins; and counts what is open. A call adds an hour at most, so that one that has much to catch up
-- with stays short: of what is old it makes wide bins only.
-- returns: whether there is more to add
-- raises: RC050 wrong isolation level
-- locks: the row of history_until, or nothing while another has it
-- public: yes
create or replace function rolecall.roll_up_history(p_margin interval default '5 s')
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_settled timestamptz;
    v_from timestamptz;
    v_until timestamptz;
    v_width int := 10;
    v_tier record;
begin
    perform rolecall.require_read_committed();
    select moment into v_from from rolecall.history_until for update skip locked;
    if not found then
        return false;
    end if;
    v_settled := rolecall.begin_of_bin(v_width, rolecall.settled_until(p_margin));
    if v_from = '-infinity' and v_settled > v_from then
        v_from := rolecall.begin_of_history(v_settled);
        update rolecall.history_until set began = v_from, moment = v_from;
    end if;
    v_until := least(v_settled, rolecall.begin_of_bin(3600, v_from) + interval '1 hour');
    if v_until <= v_from then
        return false;
    end if;
    -- An hour that was begun in narrow bins is ended in them.
    if v_from = rolecall.begin_of_bin(3600, v_from) then
        select min(width)
        into v_width
        from rolecall.history_tiers()
        where wider is null or v_from >= v_settled - kept;
    end if;
    perform rolecall.count_ended(v_width, v_from, v_until);
    perform rolecall.count_retried(v_width, v_from, v_until);
    if v_until = v_settled then
        perform rolecall.count_open(
            v_width, rolecall.begin_of_bin(v_width, v_until - interval '1 us'), rolecall.clock()
        );
    end if;
    for v_tier in
        select tier.width, tier.wider, rolecall.begin_of_bin(tier.wider, v_from) as begun,
            rolecall.begin_of_bin(tier.wider, v_until) as over
        from rolecall.history_tiers() as tier
        where tier.wider is not null and tier.width >= v_width
        order by tier.width
    loop
        if v_tier.begun < v_tier.over then
            insert into rolecall.history
            select * from rolecall.history_bins(null, v_tier.wider, v_tier.width, v_tier.begun, v_tier.over);
        end if;
    end loop;
    update rolecall.history_until set moment = v_until;
    return v_until < v_settled;
end
$$;

-- Says from when on the history is told when it is made for the first time: since the first day of finished
-- tasks that is kept.
-- returns: the moment, the beginning of an hour
create or replace function rolecall.begin_of_history(p_now timestamptz)
returns timestamptz
language sql
stable
set search_path = ''
as $$
    select rolecall.begin_of_bin(3600, greatest(
        p_now - (select max(kept) from rolecall.history_tiers()),
        least(p_now, (
            select min(to_date(right(name, 8), 'YYYYMMDD'))
            from rolecall.old_partitions('rolecall.finished_tasks', (p_now at time zone 'utc')::date) as name
        )::timestamp at time zone 'utc')
    ))
$$;

-- Makes the history's bins of one width from what finished within a time: how much, how it went, how long it
-- waited and ran.
create or replace function rolecall.count_ended(p_width int, p_from timestamptz, p_until timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
-- A day's rows lie in the order in which they ended, so a summary of where which moment lies is enough.
set jit = off
set enable_seqscan = off
as $$
declare
    v_bounds constant float8[] := rolecall.history_bounds();
begin
    insert into rolecall.history (
        role, width, at, completed, failed, cancelled, longest_wait, longest_run, wait_buckets, wait_counts,
        run_buckets, run_counts
    )
    with ended as (
        select task.line_id, task.state,
            date_bin(make_interval(secs => p_width), task.finished_at, 'epoch') as bin,
            -- A first claim and a retry begin to wait when they are due; a parent that goes on, for one, has
            -- waited for its children.
            case when task.fence = 1 or task.attempt > 1 then
                date_part(
                    'epoch',
                    coalesce(task.started_at, task.claimed_at) - greatest(task.created_at, task.scheduled_for)
                )
            end as waited,
            case when task.worker_id is not null and task.claimed_at is not null then
                date_part('epoch', task.finished_at - task.started_at)
            end as ran
        from rolecall.finished_tasks as task
        where task.finished_at >= p_from and task.finished_at < p_until
    ),
    grouped as (
        select line_id, state, bin, width_bucket(waited, v_bounds) as wait_bucket,
            width_bucket(ran, v_bounds) as run_bucket,
            count(*) as number, max(waited) as waited, max(ran) as ran
        from ended
        group by 1, 2, 3, 4, 5
    ),
    share as materialized (
        select shown.role, grouped.*
        from grouped
        join rolecall.lines as line on line.id = grouped.line_id
        cross join lateral (values (line.role), ('')) as shown (role)
    ),
    wait as (
        select role, bin, array_agg(bucket order by bucket) as buckets,
            array_agg(number order by bucket) as counts
        from (
            select role, bin, wait_bucket as bucket, sum(number) as number
            from share
            where wait_bucket is not null
            group by 1, 2, 3
        ) as summed
        group by role, bin
    ),
    run as (
        select role, bin, array_agg(bucket order by bucket) as buckets,
            array_agg(number order by bucket) as counts
        from (
            select role, bin, run_bucket as bucket, sum(number) as number
            from share
            where run_bucket is not null
            group by 1, 2, 3
        ) as summed
        group by role, bin
    ),
    total as (
        select role, bin, sum(number) filter (where state = 'completed') as completed,
            sum(number) filter (where state = 'failed') as failed,
            sum(number) filter (where state = 'cancelled') as cancelled,
            max(waited) as waited, max(ran) as ran
        from share
        group by role, bin
    )
    select role, p_width, bin, coalesce(completed, 0), coalesce(failed, 0), coalesce(cancelled, 0), waited,
        ran,
        coalesce(wait.buckets, '{}'), coalesce(wait.counts, '{}'), coalesce(run.buckets, '{}'),
        coalesce(run.counts, '{}')
    from total
    left join wait using (role, bin)
    left join run using (role, bin);
end
$$;

-- Lists where the buckets of durations begin, in seconds: ten a decade from a millisecond on, to a month;
-- below the first is bucket 0.
-- returns: the bounds
create or replace function rolecall.history_bounds()
returns float8[]
language sql
immutable
set search_path = ''
as $$
    select array_agg(0.001 * power(10::float8, number / 10.0::float8) order by number)
    from generate_series(0, 94) as number
$$;

-- Adds to the history's bins of one width the attempts that failed within a time and were not their task's
-- last.
-- locks: the bins
create or replace function rolecall.count_retried(p_width int, p_from timestamptz, p_until timestamptz)
returns void
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    insert into rolecall.history (role, width, at, retried)
    select shown.role, p_width, date_bin(make_interval(secs => p_width), event.at, 'epoch'), count(*)
    from rolecall.task_events as event
    left join lateral (select line_id from rolecall.tasks where id = event.task_id limit 1) as open on true
    left join lateral (
        select line_id, state = 'failed' and attempt = event.attempt as by_this
        from rolecall.finished_tasks
        where open.line_id is null and id = event.task_id and finished_at >= p_from
            and finished_at < rolecall.clock() + interval '1 hour'
        limit 1
    ) as ended on true
    join rolecall.lines as line on line.id = coalesce(open.line_id, ended.line_id)
    cross join lateral (values (line.role), ('')) as shown (role)
    where event.at >= p_from and event.at < p_until and event.kind in ('error', 'timeout', 'crashed')
        and ended.by_this is not true
    group by 1, 3
    on conflict (role, width, at) do update set retried = rolecall.history.retried + excluded.retried
$$;

-- Adds to one bin of the history what is due and free to run, and what runs. The bin of all roles says that
-- it was counted, whatever was found.
-- locks: the bin
create or replace function rolecall.count_open(p_width int, p_at timestamptz, p_now timestamptz)
returns void
language sql
volatile
set search_path = ''
as $$
    with counted as (
        select line.role, sum(part.ready)::bigint as ready, sum(part.running)::bigint as running
        from rolecall.backlog(p_now) as part
        join rolecall.lines as line on line.id = part.line_id
        group by line.role
        having sum(part.ready + part.running) > 0
    )
    insert into rolecall.history (role, width, at, samples, ready, running)
    select role, p_width, p_at, 1, ready, running from counted
    union all
    select '', p_width, p_at, 1, coalesce(sum(ready), 0)::bigint, coalesce(sum(running), 0)::bigint
    from counted
    on conflict (role, width, at) do update
    set samples = rolecall.history.samples + 1, ready = rolecall.history.ready + excluded.ready,
        running = rolecall.history.running + excluded.running
$$;
