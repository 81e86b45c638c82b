-- Forgets some of one kind that is past its time, notes in its row how far it has come, and when to look
-- again: at once where there is more, in a minute where something is in use, else in an hour.
-- returns: one row: how many; whether there is more
-- locks: the caller holds the kind's row; rows of the kind; for a dropped day, its partitioned table, until
-- the commit
create or replace function rolecall.prune_batch(p_row rolecall.retention, p_now timestamptz, p_limit int)
returns table (number bigint, more boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_oldest timestamptz := p_now - coalesce(
        (select max(greatest(keep_completed, keep_failed)) from rolecall.roles), interval '30 days'
    );
    v_place text;
    v_in_use boolean := false;
begin
    case p_row.kind
        when 'finished_tasks' then
            select *
            into number, v_place
            from rolecall.prune_finished(p_row.place, rolecall.held_chains(), p_now, p_limit);
        when 'task_partitions', 'event_partitions' then
            select * into number, v_place, v_in_use
            from rolecall.drop_day(
                case p_row.kind
                    when 'task_partitions' then 'rolecall.finished_tasks'
                    else 'rolecall.task_events'
                end::regclass,
                p_row.place, v_oldest, rolecall.held_chains(), p_now
            );
        when 'keys' then
            select * into number, v_place from rolecall.prune_keys(p_row.place, p_limit);
        when 'task_tokens' then
            select * into number, v_place from rolecall.prune_tokens(p_row.place, p_now, p_limit);
        when 'task_owners' then
            select * into number, v_place from rolecall.prune_owners(p_row.place, p_limit);
        when 'schedule_runs' then
            number := rolecall.prune_schedule_runs(p_now, p_limit);
        when 'history' then
            number := rolecall.prune_history(p_now);
        when 'api_keys', 'sessions', 'known_browsers', 'login_attempts' then
            number := rolecall.prune_access(p_row.kind, p_now, p_limit);
        else
            number := rolecall.prune_rows(p_row.kind, p_row.keep, v_oldest, p_now, p_limit);
    end case;
    more := v_place is not null
        or (number >= p_limit and p_row.kind not in ('keys', 'task_tokens', 'task_owners'));
    update rolecall.retention as row
    set place = v_place,
        next_at = p_now + case when more then '0 s' when v_in_use then '1 min' else '1 hour' end::interval,
        in_use_since = case
            when v_in_use then coalesce(row.in_use_since, p_now)
            when number = 0 and v_place is not null then row.in_use_since
        end
    where row.kind = p_row.kind;
    return next;
end
$$;

-- Forgets single finished tasks whose own time, and that of all they belong to, is up, of the next day that
-- has such ones; a parent goes after its children. What a task needed goes with it.
-- returns: one row: how many; up to which partition all is done, null at the end
-- locks: finished_tasks rows
create or replace function rolecall.prune_finished(
    p_after text, p_held bigint[], p_now timestamptz, p_limit int
)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_day record;
    v_done text := p_after;
    v_gone bigint[];
begin
    for v_day in select * from rolecall.days_to_prune(p_after, p_now) loop
        v_gone := rolecall.prune_partition(v_day.partition, v_day.most, p_held, p_now, p_limit);
        exit when v_gone <> '{}';
        v_done := v_day.label;
    end loop;
    delete from rolecall.needs as need where need.task_id = any(v_gone);
    number := coalesce(cardinality(v_gone), 0);
    -- The same day again, until there is nothing: whose last child has gone may go itself.
    place := case when number > 0 then coalesce(v_done, '') end;
    return next;
end
$$;

-- Lists the partitions of finished tasks, after one of them in order, that may have tasks to be forgotten one
-- by one: whose role no longer wants to keep them, but not those that go with their whole day within another
-- one. The counts tell which days have none, but for the last ones, which are not counted yet.
-- returns: one row a partition, in order: itself; its label; how long a role may keep tasks for them to be
-- forgotten here, null where any may
create or replace function rolecall.days_to_prune(p_after text, p_now timestamptz)
returns table (partition regclass, label text, most interval)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_shortest interval := (select min(least(keep_completed, keep_failed)) from rolecall.roles);
    v_longest interval := (select max(greatest(keep_completed, keep_failed)) from rolecall.roles);
    v_counted_until timestamptz := (select moment from rolecall.counted_until);
begin
    return query
    select part.partition, part.label, part.most
    from (
        select old.partition, old.label, old.begins, old.ends, case
            when old.ends >= p_now - v_longest - interval '1 day' then v_longest - interval '1 day'
        end as most
        from rolecall.partitions_of('rolecall.finished_tasks') as old
        where old.begins <= p_now - v_shortest
        union all
        select 'rolecall.finished_tasks_default', 'default', 'infinity', 'infinity', null
        where v_shortest is not null
    ) as part
    where part.label > coalesce(p_after, '') collate "C" and (
        part.ends > v_counted_until
        or exists (
            select from rolecall.finished_counts as counted
            join rolecall.lines as line on line.id = counted.line_id
            join rolecall.roles as role on role.name = line.role
            cross join lateral (
                select case counted.state
                    when 'completed' then role.keep_completed
                    else role.keep_failed
                end as keep
            ) as setting
            where counted.day >= (part.begins at time zone 'utc')::date
                and counted.day < (part.ends at time zone 'utc')::date
                and part.begins < p_now - setting.keep
                and (setting.keep > part.most) is not true
            group by counted.line_id, counted.state
            having sum(counted.number) > 0
        )
    )
    order by part.label collate "C";
end
$$;

-- Forgets, of one partition, finished tasks whose own time, and that of all they belong to, is up; a parent
-- goes after its children. What a role keeps for longer than p_most stays.
-- returns: their ids, at most p_limit
-- locks: finished_tasks rows
create or replace function rolecall.prune_partition(
    p_partition regclass, p_most interval, p_held bigint[], p_now timestamptz, p_limit int
)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gone bigint[];
begin
    execute format(
        'with gone as (
            -- Of the whole table, whose trigger counts what leaves it.
            delete from rolecall.finished_tasks as finished
            where (finished.id, finished.finished_at) in (
                select old.id, old.finished_at
                from %s as old
                join rolecall.lines as line on line.id = old.line_id
                join rolecall.roles as role on role.name = line.role
                cross join lateral (
                    select case old.state
                        when ''completed'' then role.keep_completed
                        else role.keep_failed
                    end as keep
                ) as setting
                where old.finished_at < $2 - setting.keep and (setting.keep > $4) is not true
                    and case
                        when old.parent_id is null
                            and old.chain_index = 0
                            and old.continued is not true then old.id <> all($1)
                        else not rolecall.is_wanted(old.chain_id, old.parent_id, $1, $2)
                    end
                    -- Not `exists`, which may be answered from a list of all children.
                    and (
                        select true
                        from rolecall.finished_tasks as child
                        where child.parent_id = old.id limit 1
                    ) is null
                limit $3
            )
            returning finished.id
        )
        select coalesce(array_agg(gone.id), ''{}'') from gone', p_partition
    ) into v_gone using p_held, p_now, p_limit, p_most;
    return v_gone;
end
$$;

-- Finds the finished chains that something open hangs on: what open tasks need, whose children are open, and
-- all above those.
-- returns: the chains' ids
create or replace function rolecall.held_chains()
returns bigint[]
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
    with recursive held as (
        select task.chain_id, task.parent_id
        from (
            select child.parent_id as id from rolecall.tasks as child where child.parent_id is not null
            union
            select need.needed_id
            from rolecall.needs as need
            join rolecall.tasks as dependent on dependent.id = need.task_id
        ) as wanted
        join rolecall.finished_tasks as task on task.id = wanted.id
        union
        select task.chain_id, task.parent_id
        from held
        join rolecall.finished_tasks as task on task.id = held.parent_id
    )
    select coalesce(array_agg(distinct chain_id), '{}') from held
$$;

-- Drops the next partition of a table, finished tasks or events, that is over before a moment. Finished tasks
-- that must be kept for what they belong to move into the default partition first; a day with too many of
-- them stays, and is emptied row by row. One that is in use for longer than a moment stays too: that time
-- will come.
-- returns: one row: how many were dropped; up to which partition all is done, null at the end; whether one
-- was in use, with which it ends
-- locks: needs rows, skipping locked ones; then the partitioned table
create or replace function rolecall.drop_day(
    p_table regclass, p_after text, p_before timestamptz, p_held bigint[], p_now timestamptz
)
returns table (number bigint, place text, in_use boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- All who read or finish tasks queue behind who waits for these locks: none of them may be held up by one
-- long reader.
set lock_timeout = '100ms'
as $$
declare
    -- Bounds what is moved while the table is locked against everybody.
    v_most_kept constant int := 10000;
    v_partition regclass;
    v_kept bigint[];
begin
    number := 0;
    in_use := false;
    select old.partition, old.label
    into v_partition, place
    from rolecall.partitions_of(p_table) as old
    where old.ends <= p_before and old.label > coalesce(p_after, '') collate "C"
    order by old.label collate "C"
    limit 1;
    if place is null then
        return next;
        return;
    end if;
    if p_table = 'rolecall.task_events'::regclass then
        execute format('drop table %s', v_partition);
        number := 1;
        return next;
        return;
    end if;
    -- All that takes long comes before the first lock on a table.
    v_kept := rolecall.wanted_of_partition(v_partition, p_held, p_now, v_most_kept + 1);
    if cardinality(v_kept) <= v_most_kept then
        perform rolecall.forget_needs_of_partition(v_partition, v_kept);
        perform rolecall.drop_partition(v_partition, v_kept);
        number := 1;
    end if;
    return next;
exception when lock_not_available or deadlock_detected then
    return query select 0::bigint, null::text, true;
end
$$;

-- Finds, among a day's finished tasks whose own time is up, those that must be kept for what they belong to.
-- returns: their ids, at most p_limit
create or replace function rolecall.wanted_of_partition(
    p_partition regclass, p_held bigint[], p_now timestamptz, p_limit int
)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids bigint[];
begin
    execute format(
        'select array(
            select old.id from %s as old
            where (old.parent_id is not null or old.chain_index > 0 or old.continued or old.id = any($1))
                and rolecall.is_wanted(old.chain_id, old.parent_id, $1, $2)
            limit $3
        )', p_partition
    ) into v_ids using p_held, p_now, p_limit;
    return v_ids;
end
$$;

-- Forgets what a day's finished tasks have needed, but for some of them.
-- locks: needs rows, skipping locked ones: who ends a task holds them, and may not be waited for before a
-- table is locked
create or replace function rolecall.forget_needs_of_partition(p_partition regclass, p_kept bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    execute format(
        'delete from rolecall.needs where (task_id, position) in (
            select need.task_id, need.position
            from rolecall.needs as need
            join %s as old on old.id = need.task_id
            where old.id <> all($1)
            for update of need skip locked
        )', p_partition
    ) using p_kept;
end
$$;

-- Drops a partition of finished tasks, with their counts, but for some, which move into the default
-- partition.
-- locks: the partitioned table; then the row of counted_until, shared
create or replace function rolecall.drop_partition(p_partition regclass, p_kept bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_first date;
    v_end date;
    v_until timestamptz;
begin
    select (begins at time zone 'utc')::date, (ends at time zone 'utc')::date
    into v_first, v_end
    from rolecall.partitions_of('rolecall.finished_tasks')
    where partition = p_partition;
    execute format('alter table rolecall.finished_tasks detach partition %s', p_partition);
    select moment into v_until from rolecall.counted_until for share;
    delete from rolecall.finished_counts where day >= v_first and day < v_end;
    if p_kept <> '{}' then
        execute format('insert into rolecall.finished_tasks select * from %s where id = any($1)', p_partition)
        using p_kept;
        insert into rolecall.finished_counts (day, line_id, state, number)
        select (finished_at at time zone 'utc')::date, line_id, state, count(*)
        from rolecall.finished_tasks_default
        where id = any(p_kept) and finished_at >= v_first::timestamp at time zone 'utc'
            and finished_at < least(v_until, v_end::timestamp at time zone 'utc')
        group by 1, 2, 3;
    end if;
    execute format('drop table %s', p_partition);
end
$$;

-- Forgets keys that nobody wants, of the next p_limit in order. One of which a capacity was said is a
-- setting, and stays.
-- returns: one row: how many; the last key that was looked at, null at the end
-- locks: the keys rows, skipping locked ones
create or replace function rolecall.prune_keys(p_after text, p_limit int)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_looked_at text[];
    v_idle text[];
begin
    v_looked_at := array(
        select known.key
        from rolecall.keys as known
        where known.key > coalesce(p_after, '')
        order by known.key limit p_limit
    );
    v_idle := array(
        select known.key from rolecall.keys as known
        where known.key = any(v_looked_at) and num_nonnulls(known.capacity, known.declared) = 0
            and not exists (
                select from rolecall.tasks as task where task.key = known.key and task.key_slot is not null
            )
            and not exists (
                select from rolecall.tasks as task where task.key = known.key and task.state = 'pending'
            )
        order by known.key
        for update of known skip locked
    );
    -- Another statement, which sees who took one of them since the first looked, and gave its row free before
    -- that had locked it.
    delete from rolecall.keys as known
    where known.key = any(v_idle)
        and not exists (
            select from rolecall.tasks as task where task.key = known.key and task.key_slot is not null
        )
        and not exists (
            select from rolecall.tasks as task where task.key = known.key and task.state = 'pending'
        );
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then v_looked_at[p_limit] end;
    return next;
end
$$;

-- Forgets tokens that open nothing any more, of the next p_limit in order.
-- returns: one row: how many; the last token that was looked at, null at the end
-- locks: task_tokens rows
create or replace function rolecall.prune_tokens(p_after text, p_now timestamptz, p_limit int)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_looked_at bytea[];
begin
    v_looked_at := array(
        select token.digest from rolecall.task_tokens as token
        where token.digest > decode(coalesce(p_after, ''), 'hex')
        order by token.digest
        limit p_limit
    );
    delete from rolecall.task_tokens as token
    where token.digest = any(v_looked_at)
        and (
            token.expires_at < p_now or not exists (
                select from rolecall.tasks as task where task.id = token.task_id
            )
        );
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then encode(v_looked_at[p_limit], 'hex') end;
    return next;
end
$$;

-- Forgets whose the tasks were that are gone, of the next p_limit in order.
-- returns: one row: how many; the last task that was looked at, null at the end
-- locks: task_owners rows
create or replace function rolecall.prune_owners(p_after text, p_limit int)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_looked_at bigint[];
begin
    v_looked_at := array(
        select owned.task_id from rolecall.task_owners as owned
        where owned.task_id > coalesce(p_after, '0')::bigint
        order by owned.task_id
        limit p_limit
    );
    delete from rolecall.task_owners as owned
    where owned.task_id = any(v_looked_at)
        and not exists (select from rolecall.tasks as task where task.id = owned.task_id)
        and not exists (select from rolecall.finished_tasks as task where task.id = owned.task_id);
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then v_looked_at[p_limit]::text end;
    return next;
end
$$;

-- Forgets the runs of schedules that are older than thirty days, and all but the latest thousand of each.
-- returns: how many
-- locks: schedule_runs rows, skipping locked ones
create or replace function rolecall.prune_schedule_runs(p_now timestamptz, p_limit int)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gone bigint;
begin
    delete from rolecall.schedule_runs
    where id = any(array(
        select old.id
        from rolecall.schedules as schedule
        cross join lateral (
            select coalesce((
                select run.id from rolecall.schedule_runs as run
                where run.schedule_id = schedule.id order by run.id desc offset 1000 limit 1
            ), 0) as id
        ) as last_to_go
        join rolecall.schedule_runs as old on old.schedule_id = schedule.id
            and (old.id <= last_to_go.id or old.at < p_now - interval '30 days')
        limit p_limit
        for update of old skip locked
    ));
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;

-- Forgets the bins of the history that are older than their width is kept.
-- returns: how many
-- locks: bins
create or replace function rolecall.prune_history(p_now timestamptz)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gone bigint;
begin
    delete from rolecall.history as old
    using rolecall.history_tiers() as tier
    where old.width = tier.width and old.at < p_now - tier.kept;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;

-- Revokes API keys that nobody used for 30 days, those apart that were made for ever; forgets those that
-- opened nothing for 30 days, sessions that have ended, browsers that were not seen for 180 days, and
-- attempts to log in that no longer count.
-- returns: how many of the kind were forgotten, at most p_limit
-- locks: the rows, skipping locked ones
create or replace function rolecall.prune_access(p_kind text, p_now timestamptz, p_limit int)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_long_ago timestamptz := p_now - interval '30 days';
    v_gone bigint;
begin
    case p_kind
        when 'api_keys' then
            update rolecall.api_keys set revoked_at = p_now
            where revoked_at is null and expires_at is not null
                and coalesce(last_used_at, created_at) < v_long_ago;
            delete from rolecall.api_keys where least(revoked_at, expires_at) < v_long_ago;
        when 'sessions' then
            delete from rolecall.sessions
            where digest = any(array(
                select old.digest
                from rolecall.sessions as old
                where old.expires_at < p_now limit p_limit
                for update skip locked
            ));
        when 'known_browsers' then
            delete from rolecall.known_browsers
            where (digest, person_id) in (
                select old.digest, old.person_id from rolecall.known_browsers as old
                where old.last_seen_at < p_now - interval '180 days' limit p_limit for update skip locked
            );
        when 'login_attempts' then
            delete from rolecall.login_attempts
            where digest = any(array(
                select old.digest from rolecall.login_attempts as old
                where old.last_at < p_now - interval '1 day' limit p_limit for update skip locked
            ));
    end case;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;

-- Forgets, of one kind, rows that are past their time: events without a day's partition, answers, the audit
-- log, workers that are long gone, marks of idle ones.
-- returns: how many, at most p_limit
-- locks: the rows, skipping locked ones where anybody else writes them
create or replace function rolecall.prune_rows(
    p_kind text, p_keep interval, p_oldest timestamptz, p_now timestamptz, p_limit int
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gone bigint;
begin
    case p_kind
        when 'task_events' then
            -- Only the net is read row by row: events of days with a partition go with it.
            delete from rolecall.task_events_default
            where ctid = any(
                array(
                    select old.ctid
                    from rolecall.task_events_default as old
                    where old.at < p_oldest limit p_limit
                )
            );
        when 'requests' then
            delete from rolecall.requests
            where ctid = any(array(
                select old.ctid from rolecall.requests as old where old.answered_at < p_now - interval '1 day'
                order by old.answered_at limit p_limit for update skip locked
            ));
        when 'audit_log' then
            delete from rolecall.audit_log
            where id = any(array(
                select old.id
                from rolecall.audit_log as old
                where old.at < p_now - p_keep
                order by old.at limit p_limit
            ));
        when 'workers' then
            delete from rolecall.workers
            where id = any(array(
                select old.id from rolecall.workers as old
                where coalesce(old.stopped_at, old.heartbeat_at) < p_now - interval '1 day'
                limit p_limit for update skip locked
            ));
        when 'idle_marks' then
            -- Of workers that died; the others take theirs away.
            delete from rolecall.idle_marks
            where ctid = any(array(
                select old.ctid
                from rolecall.idle_marks as old
                where old.until < p_now limit p_limit
                for update skip locked
            ));
    end case;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;

-- Says whether a finished task must be kept although its own time is up: its chain, or one above it in its
-- tree, is open, is held by something open, or ended so lately that its last task is kept.
-- returns: true or false
create or replace function rolecall.is_wanted(
    p_chain_id bigint, p_parent_id bigint, p_held bigint[], p_now timestamptz
)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with recursive above as (
        select p_chain_id as chain_id, p_parent_id as parent_id
        union
        select task.chain_id, task.parent_id
        from above
        cross join lateral (
            select open.chain_id, open.parent_id from rolecall.tasks as open where open.id = above.parent_id
            union all
            select finished.chain_id, finished.parent_id
            from rolecall.finished_tasks as finished
            where finished.id = above.parent_id
        ) as task
    )
    select exists (
        select from above
        where above.chain_id = any(p_held) or rolecall.is_open(above.chain_id, true)
            or (
                select last.finished_at >= p_now - case last.state
                    when 'completed' then role.keep_completed
                    else role.keep_failed
                end
                from (
                    (
                        select task.finished_at, task.line_id, task.state, 1 as turn
                        from rolecall.finished_tasks as task
                        where task.chain_id = above.chain_id and task.chain_index > 0
                        order by task.chain_index desc
                        limit 1
                    )
                    union all
                    select task.finished_at, task.line_id, task.state, 2
                    from rolecall.finished_tasks as task
                    where task.id = above.chain_id
                ) as last
                join rolecall.lines as line on line.id = last.line_id
                join rolecall.roles as role on role.name = line.role
                order by last.turn
                limit 1
            )
    )
$$;
