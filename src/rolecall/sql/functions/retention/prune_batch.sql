-- Prunes a batch of one kind, and records in its row how far it got and when to look again: at once if
-- there is more, in a minute if something was in use, otherwise in an hour.
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
        when 'task_partitions' then
            select * into number, v_place, v_in_use
            from rolecall.drop_day(
                'rolecall.finished_tasks', p_row.place, v_oldest,
                -- Its cost grows with the open tasks that need others, so not without a day to drop.
                case
                    when exists (
                        select from rolecall.partitions_of('rolecall.finished_tasks') as old
                        where old.ends <= v_oldest
                    ) then rolecall.held_chains()
                end,
                p_now
            );
        when 'event_partitions' then
            select * into number, v_place, v_in_use
            from rolecall.drop_day('rolecall.task_events', p_row.place, v_oldest, null, p_now);
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

-- Prunes single finished tasks of the next day that has any: tasks past their own retention and that of
-- everything they belong to. Children are pruned before their parents. A task's needs are deleted with it.
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
    -- The same day again, until nothing is left: parents follow after their last child.
    place := case when number > 0 then coalesce(v_done, '') end;
    return next;
end
$$;

-- Lists the partitions of finished tasks, optionally after a given one, that may have tasks to prune
-- individually: because their role's retention is over, but not if the whole day will be dropped within
-- another one. The counts show which days have none, except for the last days, which have not been counted
-- yet.
-- returns: one row per partition, in order: itself; its label; the longest retention of a role whose tasks
-- can be pruned here, null for any
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

-- Prunes finished tasks of one partition past their own retention and that of everything they belong to,
-- children before parents. Tasks of roles with a retention longer than p_most are kept.
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
            -- From the whole table, whose trigger counts the deleted rows.
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
                    -- Not `exists`, which might be evaluated by listing all children.
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

-- Finds the finished chains that open tasks depend on: chains that open tasks need, chains with open
-- children, and all chains above those.
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

-- Drops the next partition of finished tasks or events that ends before a time. Finished tasks that must be
-- kept (see is_wanted) are first moved to the default partition. A day with too many of them stays and is
-- pruned row by row. A partition that is in use for more than a moment stays until a later call.
-- returns: one row: how many were dropped; up to which partition all is done, null at the end; whether one
-- was in use, which ends the call
-- locks: needs rows, skipping locked rows; then the partitioned table
create or replace function rolecall.drop_day(
    p_table regclass, p_after text, p_before timestamptz, p_held bigint[], p_now timestamptz
)
returns table (number bigint, place text, in_use boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- Everything that reads or finishes tasks queues behind a waiter for these locks, and one long reader must
-- not block all of them.
set lock_timeout = '100ms'
as $$
declare
    -- Limits what is moved while the table is locked against all others.
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
    -- Slow work is done before the first table lock.
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

-- Finds the finished tasks of a day that must be kept past their own retention (see is_wanted).
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

-- Deletes the needs of a day's finished tasks, except those in p_kept.
-- locks: needs rows, skipping locked rows: a transaction that finishes a task holds them, and waiting for
-- it is not allowed before a table is locked
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

-- Drops a partition of finished tasks, with their counts, except for the tasks in p_kept, which are moved
-- to the default partition.
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

-- Prunes unused keys among the next p_limit in order. A key with a capacity is a setting and is kept.
-- returns: one row: how many; the last key that was examined, null at the end
-- locks: the keys rows, skipping locked rows
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
    -- A separate statement, which sees whether a session that released a row's lock in between has used the
    -- key.
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

-- Prunes unusable tokens among the next p_limit in order.
-- returns: one row: how many; the last token that was examined, null at the end
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

-- Prunes the owners of deleted tasks, among the next p_limit in order.
-- returns: one row: how many; the last task that was examined, null at the end
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

-- Prunes schedule runs older than thirty days, and all but the latest thousand of each schedule.
-- returns: how many
-- locks: schedule_runs rows, skipping locked rows
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

-- Prunes bins of the history that are past the retention of their width.
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

-- Revokes API keys that have not been used for 30 days, except those without an expiry. Prunes API keys
-- that have been unusable for 30 days, ended sessions, browsers that have not been seen for 180 days, and
-- login attempts that no longer count.
-- returns: how many of the kind were pruned, at most p_limit
-- locks: the rows, skipping locked rows
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

-- Prunes outdated rows of one kind: events without a partition, responses, audit entries, logs, error groups
-- and their hours, workers that left long ago, and their idle marks.
-- returns: how many, at most p_limit
-- locks: the rows, skipping locked rows if others write them
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
            -- Only the default partition is pruned row by row: events of other days go with their
            -- partition.
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
        when 'task_logs' then
            delete from rolecall.task_logs
            where (task_id, fence, part) in (
                select old.task_id, old.fence, old.part from rolecall.task_logs as old
                where old.at < p_now - p_keep
                order by old.at limit p_limit for update skip locked
            );
        when 'error_groups' then
            delete from rolecall.error_groups
            where id = any(array(
                select old.id from rolecall.error_groups as old where old.last_at < p_oldest
                order by old.last_at limit p_limit for update skip locked
            ));
        when 'error_hours' then
            delete from rolecall.error_hours
            where (group_id, hour) in (
                select old.group_id, old.hour from rolecall.error_hours as old
                where old.hour < p_now - interval '7 days' limit p_limit for update skip locked
            );
        when 'workers' then
            delete from rolecall.workers
            where id = any(array(
                select old.id from rolecall.workers as old
                where coalesce(old.stopped_at, old.heartbeat_at) < p_now - interval '1 day'
                limit p_limit for update skip locked
            ));
        when 'idle_marks' then
            -- Marks of workers that died; others remove their own.
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

-- Returns whether a finished task must be kept past its own retention: its chain, or one above it in its
-- tree, is open, is needed by an open task, or finished so recently that its last task is kept.
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
