-- Adds the tasks that have finished since the last call to the counts of finished tasks, up to the time
-- before which nothing can finish any more, and at most to the end of a day, so that a call with a long
-- backlog stays short.
-- returns: whether there is more to add
-- raises: RC050 wrong isolation level
-- locks: finished_tasks against changes of its structure; then the row of counted_until, or nothing if
-- another session holds it
-- public: yes
create or replace function rolecall.roll_up_counts(p_margin interval default '5 s')
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_settled timestamptz;
    v_from timestamptz;
    v_until timestamptz;
begin
    perform rolecall.require_read_committed();
    -- The table first, as in transactions that drop a partition.
    lock table rolecall.finished_tasks in access share mode;
    select moment into v_from from rolecall.counted_until for update skip locked;
    if not found then
        return false;
    end if;
    v_settled := rolecall.settled_until(p_margin);
    v_until := least(v_settled, coalesce(
        date_trunc('day', nullif(v_from, '-infinity'), 'UTC') + interval '1 day',
        (select min(begins) from rolecall.partitions_of('rolecall.finished_tasks')),
        v_settled
    ));
    -- However many processes call this, the roll-up runs only if it can add something.
    if v_until = v_settled and v_until <= v_from + p_margin then
        return false;
    end if;
    with came as (
        select (finished_at at time zone 'utc')::date as day, line_id, state, count(*) as number
        from rolecall.finished_tasks
        where finished_at >= v_from and finished_at < v_until
        group by 1, 2, 3
    ),
    gone as (
        delete from rolecall.finished_counts
        where day in (
            select came.day
            from came
            union select less.day
            from rolecall.finished_counts as less
            where less.number < 0
        )
        returning day, line_id, state, number
    )
    insert into rolecall.finished_counts (day, line_id, state, number)
    select day, line_id, state, sum(number)
    from (select * from gone union all select * from came) as counted
    group by day, line_id, state
    having sum(number) <> 0;
    update rolecall.counted_until set moment = v_until;
    return v_until < v_settled;
end
$$;

-- Adds the tasks that have finished since the last call to the history, in whole bins, up to the time
-- before which nothing can finish any more, and counts open tasks. A call adds at most an hour, so that a
-- call with a long backlog stays short, and makes only wide bins of old data.
-- returns: whether there is more to add
-- raises: RC050 wrong isolation level
-- locks: the row of history_until, or nothing if another session holds it
-- public: yes
create or replace function rolecall.roll_up_history(p_margin interval default '5 s')
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
    -- An hour that was started in narrow bins is completed in narrow bins.
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
            select *
            from rolecall.history_bins(null, v_tier.wider, v_tier.width, v_tier.begun, v_tier.over, true);
        end if;
    end loop;
    update rolecall.history_until set moment = v_until;
    return v_until < v_settled;
end
$$;

-- Returns where the history starts when it is created: at the first day of finished tasks that is kept.
-- returns: the time, the start of an hour
create or replace function rolecall.begin_of_history(p_now timestamptz)
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.begin_of_bin(3600, greatest(
        p_now - (select max(kept) from rolecall.history_tiers()),
        least(p_now, (
            select min(begins) from rolecall.partitions_of('rolecall.finished_tasks') where ends <= p_now
        ))
    ))
$$;

-- Creates the history's bins of one width for the tasks that finished in a period: their number, outcomes,
-- waiting times and durations.
create or replace function rolecall.count_ended(p_width int, p_from timestamptz, p_until timestamptz)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- Rows of a day are stored in the order in which they finished, so a BRIN index is sufficient.
set jit = off
set enable_seqscan = off
as $$
declare
    v_bounds constant float8[] := rolecall.history_bounds();
begin
    insert into rolecall.history (
        role, handler, width, at, completed, failed, cancelled, longest_wait, longest_run, wait_buckets,
        wait_counts, run_buckets, run_counts
    )
    with ended as (
        select task.line_id, task.state,
            date_bin(make_interval(secs => p_width), task.finished_at, 'epoch') as bin,
            -- A first claim and a retry start waiting when they are due. Other claims, such as a parent's
            -- next step, waited for something else.
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
        select shown.role, shown.handler, grouped.*
        from grouped
        join rolecall.lines as line on line.id = grouped.line_id
        cross join lateral (values (line.role, line.handler), ('', '')) as shown (role, handler)
    ),
    wait as (
        select role, handler, bin, array_agg(bucket order by bucket) as buckets,
            array_agg(number order by bucket) as counts
        from (
            select role, handler, bin, wait_bucket as bucket, sum(number) as number
            from share
            where wait_bucket is not null
            group by 1, 2, 3, 4
        ) as summed
        group by role, handler, bin
    ),
    run as (
        select role, handler, bin, array_agg(bucket order by bucket) as buckets,
            array_agg(number order by bucket) as counts
        from (
            select role, handler, bin, run_bucket as bucket, sum(number) as number
            from share
            where run_bucket is not null
            group by 1, 2, 3, 4
        ) as summed
        group by role, handler, bin
    ),
    total as (
        select role, handler, bin, sum(number) filter (where state = 'completed') as completed,
            sum(number) filter (where state = 'failed') as failed,
            sum(number) filter (where state = 'cancelled') as cancelled,
            max(waited) as waited, max(ran) as ran
        from share
        group by role, handler, bin
    )
    select role, handler, p_width, bin, coalesce(completed, 0), coalesce(failed, 0), coalesce(cancelled, 0),
        waited, ran,
        coalesce(wait.buckets, '{}'), coalesce(wait.counts, '{}'), coalesce(run.buckets, '{}'),
        coalesce(run.counts, '{}')
    from total
    left join wait using (role, handler, bin)
    left join run using (role, handler, bin);
end
$$;

-- Adds the failed attempts in a period that were not their task's last to the history's bins of one width.
-- locks: the bins
create or replace function rolecall.count_retried(p_width int, p_from timestamptz, p_until timestamptz)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    insert into rolecall.history (role, handler, width, at, retried)
    select shown.role, shown.handler, p_width, date_bin(make_interval(secs => p_width), event.at, 'epoch'),
        count(*)
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
    cross join lateral (values (line.role, line.handler), ('', '')) as shown (role, handler)
    where event.at >= p_from and event.at < p_until and event.kind in ('error', 'timeout', 'crashed')
        and ended.by_this is not true
    group by 1, 2, 4
    on conflict (role, width, at, handler) do update
    set retried = rolecall.history.retried + excluded.retried
$$;

-- Adds the number of due and running tasks to one bin of the history. The bin of all roles also records
-- that a sample was taken.
-- locks: the bin
create or replace function rolecall.count_open(p_width int, p_at timestamptz, p_now timestamptz)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    with counted as (
        select line.role, line.handler, sum(part.ready)::bigint as ready, sum(part.running)::bigint as running
        from rolecall.backlog(p_now) as part
        join rolecall.lines as line on line.id = part.line_id
        group by line.role, line.handler
        having sum(part.ready + part.running) > 0
    )
    insert into rolecall.history (role, handler, width, at, samples, ready, running)
    select role, handler, p_width, p_at, 1, ready, running from counted
    union all
    select '', '', p_width, p_at, 1, coalesce(sum(ready), 0)::bigint, coalesce(sum(running), 0)::bigint
    from counted
    on conflict (role, width, at, handler) do update
    set samples = rolecall.history.samples + 1, ready = rolecall.history.ready + excluded.ready,
        running = rolecall.history.running + excluded.running
$$;

-- Returns the time before which nothing can finish any more: every task that becomes visible as finished
-- later has a later `finished_at`. That is read from the clock by the statement that finishes the task, but
-- becomes visible at the commit, possibly hours later. Therefore transactions that may still commit limit
-- the result; if the start of one is unknown, this waits briefly for its end. Transactions that begin after
-- the clock was read here finish tasks later, and a transaction leaves the list only after its commit is
-- visible. The order is therefore: read the clock, then the list, then count. Because the clock may be set
-- back a little, and a session may be delayed before its first lock, p_margin is subtracted.
-- returns: the time; -infinity if there is none
create or replace function rolecall.settled_until(p_margin interval)
returns timestamptz
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_until timestamptz := least(rolecall.clock(), clock_timestamp());
    v_oldest timestamptz;
    v_unknown text[];
begin
    select min(case when late.prepared then '-infinity' else late.began end),
        coalesce(array_agg(late.virtual_id) filter (where late.began is null and not late.prepared), '{}')
    into v_oldest, v_unknown
    from rolecall.late_committers() as late;
    for v_look in 1..10 loop
        exit when cardinality(v_unknown) = 0;
        perform pg_sleep(0.02);
        v_unknown := array(
            select lock.virtualtransaction from pg_catalog.pg_locks as lock
            where lock.locktype = 'virtualxid' and lock.virtualtransaction = any(v_unknown)
        );
    end loop;
    return case when cardinality(v_unknown) > 0 then '-infinity' else least(v_until, v_oldest) - p_margin end;
end
$$;

-- Lists open and prepared transactions that may still commit a finished task or a retry with a time in the
-- past. A transaction that writes these holds a lock on their table until it commits, and all roles can see
-- all locks. (1) A transaction with such a lock may have written at any time since it began. (2) One
-- without a lock that is running a statement may have read the clock only in that statement. One that runs
-- no statement has not read a time that it will write, and an aborted one never commits. (3) Without the
-- right to read all statistics, only the locks of another role's session are visible. If it holds or awaits
-- a lock on one of our tables that readers do not take, it may have begun at any time. Otherwise it may
-- have read the clock before its first lock, which the caller's margin covers. (4) The start of a prepared
-- transaction is unknown, but until it was prepared, it limited earlier results.
-- returns: one row per transaction: its virtual id, its role, its start (null if unknown), and the name of
-- its session or of the prepared transaction
create or replace function rolecall.late_committers()
returns table (virtual_id text, user_name name, began timestamptz, prepared boolean, known_as text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_database constant oid := (
        select database.oid from pg_catalog.pg_database as database where datname = current_database()
    );
    v_ours constant oid[] := array(
        select oid from pg_catalog.pg_class where relnamespace = 'rolecall'::regnamespace
    );
    v_counted constant oid[] := array['rolecall.finished_tasks'::regclass, 'rolecall.task_events'::regclass];
    v_sessions jsonb;
begin
    -- Otherwise the server would return the same sessions again within a transaction.
    perform pg_stat_clear_snapshot();
    -- The sessions first: a lock that is seen later was taken before, or in a statement that began later.
    v_sessions := (
        select jsonb_agg(jsonb_build_object(
            'pid', session.pid, 'user_name', session.usename, 'hidden',
            session.state is null or session.state = 'disabled', 'running', session.state not like 'idle%',
            'began', session.xact_start, 'active', greatest(session.xact_start, session.query_start)
        ))
        from pg_catalog.pg_stat_activity as session
        where session.datid = v_database and session.pid <> pg_backend_pid()
            and session.backend_type is distinct from 'autovacuum worker'
            and session.state is distinct from 'idle'
            and session.state is distinct from 'idle in transaction (aborted)'
    );
    return query
    with lock as materialized (
        select * from pg_catalog.pg_locks
    ),
    held as (
        select lock.pid, lock.virtualtransaction, lock.relation = any(v_counted)
            and lock.mode <> 'AccessShareLock' as writes
        from lock
        where lock.database = v_database and lock.relation = any(v_ours)
            and (lock.mode <> 'AccessShareLock' or not lock.granted)
    )
    select
        (select max(held.virtualtransaction) from held where held.pid = session.pid), session.user_name,
        case when session.hidden then null when hand.writes then session.began else session.active end,
        false, 'session ' || session.pid
    from jsonb_to_recordset(v_sessions) as session (
        pid int, user_name name, hidden boolean, running boolean, began timestamptz, active timestamptz
    )
    cross join lateral (select bool_or(held.writes) as writes from held where held.pid = session.pid) as hand
    where case when session.hidden then hand.writes is not null else hand.writes is true
        or session.running end
    union all
    select held.virtualtransaction, gone.owner, null, true, 'prepared transaction ' || gone.gid
    from (select distinct virtualtransaction from held where held.pid is null and held.writes) as held
    join lock on lock.pid is null and lock.virtualtransaction = held.virtualtransaction
        and lock.locktype = 'transactionid'
    join pg_catalog.pg_prepared_xacts as gone on gone.transaction = lock.transactionid;
end
$$;

-- Subtracts rows that are deleted from the finished tasks from the counts that include them (trigger
-- function). The row that records whether they are included is locked until the commit.
-- locks: the row of counted_until, shared; waits for a roll-up in progress
create or replace function rolecall.uncount_finished()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_until timestamptz;
begin
    if not exists (select from gone) then
        return null;
    end if;
    select moment into v_until from rolecall.counted_until for share;
    insert into rolecall.finished_counts (day, line_id, state, number)
    select (finished_at at time zone 'utc')::date, line_id, state, -count(*)
    from gone
    where finished_at < v_until
    group by 1, 2, 3;
    return null;
end
$$;

-- Counts the open tasks of each line that wait only for a worker or their due time, using the indexes of
-- claims and renewals.
-- returns: one row for each line that has any: due, due later, and running; a task that waits in a worker
-- behind another one of its sequence counts as due
create or replace function rolecall.backlog(p_now timestamptz)
returns table (line_id int, ready bigint, scheduled bigint, running bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select part.line_id, sum(part.ready)::bigint, sum(part.scheduled)::bigint, sum(part.running)::bigint
    from (
        select line_id, count(*) filter (where scheduled_for <= p_now) as ready,
            count(*) filter (where scheduled_for > p_now) as scheduled, 0 as running
        from rolecall.tasks
        where state = 'pending' and not parked
        group by line_id
        union all
        select task.line_id, count(*) filter (where shown.state = 'pending'), 0,
            count(*) filter (where shown.state = 'running')
        from rolecall.tasks as task
        cross join lateral (
            select rolecall.shown_state(task.state, task.key_slot, task.started_at) as state
        ) as shown
        where task.state = 'running'
        group by task.line_id
    ) as part
    group by part.line_id
$$;
