-- Creates the daily partitions of finished tasks and events, from today on. A day that already has rows in
-- the default partition stays there.
-- returns: how many partitions were created
-- raises: 55P03 the tables were in use during all five tries, about three seconds: none was created, call
-- it again later
-- locks: the partitioned tables, for each new partition
-- public: yes
create or replace function rolecall.make_partitions(p_days_ahead int default 7)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- Everything that reads or finishes tasks queues behind a waiter for these locks, and one long reader must
-- not block all of them.
set lock_timeout = '100ms'
as $$
declare
    v_tries_left int := 5;
begin
    loop
        begin
            return rolecall.try_to_make_partitions(p_days_ahead);
        exception when lock_not_available or deadlock_detected then
            v_tries_left := v_tries_left - 1;
            if v_tries_left = 0 then
                raise;
            end if;
        end;
        perform pg_sleep(random() + 0.1);
    end loop;
end
$$;

-- Creates the daily partitions of finished tasks and events, from today on.
-- returns: how many partitions were created
-- raises: 55P03 the tables are in use: roll back and try again
-- locks: the partitioned tables, if a partition is missing
create or replace function rolecall.try_to_make_partitions(p_days_ahead int)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_today date := (rolecall.clock() at time zone 'utc')::date;
    v_made int := 0;
begin
    for v_ahead in 0..p_days_ahead loop
        v_made := v_made
            + rolecall.make_partition('finished_tasks', 'finished_at', v_today + v_ahead)
            + rolecall.make_partition('task_events', 'at', v_today + v_ahead);
    end loop;
    return v_made;
end
$$;

-- Creates one day's partition of a table, unless a partition covers that day or the default partition
-- already has rows of it. If the usual name is taken, it gets another one.
-- returns: 1 if it was created, otherwise 0
-- locks: the partitioned table, then its partitions: the order in which readers and writers lock them
create or replace function rolecall.make_partition(p_table text, p_column text, p_day date)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text := format('%s_%s', p_table, to_char(p_day, 'YYYYMMDD'));
    v_from timestamptz := p_day::timestamp at time zone 'utc';
    v_to timestamptz := (p_day + 1)::timestamp at time zone 'utc';
    v_is_settled text := format(
        'select exists (
            select from rolecall.partitions_of(%L::regclass) as made where made.begins < $2 and made.ends > $1
        ) or exists (select from rolecall.%I where %I >= $1 and %I < $2)',
        'rolecall.' || p_table, p_table || '_default', p_column, p_column
    );
    v_settled boolean;
begin
    execute v_is_settled into v_settled using v_from, v_to;
    if not v_settled then
        -- Uncommitted rows of that day, or another session's partition, may exist: wait for them and admit
        -- no more.
        execute format('lock table rolecall.%I in access exclusive mode', p_table);
        execute v_is_settled into v_settled using v_from, v_to;
    end if;
    if v_settled then
        return 0;
    end if;
    -- A table's name must be free among relations and among types.
    while num_nonnulls(to_regclass('rolecall.' || v_name), to_regtype('rolecall.' || v_name)) > 0 loop
        v_name := v_name || '_';
    end loop;
    execute format(
        'create table rolecall.%I partition of rolecall.%I for values from (%L) to (%L)', v_name, p_table,
        v_from, v_to
    );
    -- The parent's setting is not inherited.
    execute format('alter table rolecall.%I replica identity full', v_name);
    return 1;
end
$$;

-- Lists the partitions of a table that have two bounds, oldest first. Bounds are read from the catalog, so
-- the names and schemas of partitions do not matter. The default partition is not included.
-- returns: one row per partition: itself; its label, which sorts as the partitions do; its bounds
create or replace function rolecall.partitions_of(p_table regclass)
returns table (partition regclass, label text, begins timestamptz, ends timestamptz)
language sql
stable
set search_path = pg_catalog, pg_temp
-- Bounds are printed and parsed with these settings.
set datestyle = 'ISO'
set timezone = 'UTC'
as $$
    -- Materialized, so that bounds of other tables' partitions are never parsed as times.
    with part as materialized (
        select child.oid,
            regexp_match(
                pg_get_expr(child.relpartbound, child.oid),
                $re$^FOR VALUES FROM \('(.+)'\) TO \('(.+)'\)$re$
            ) as bounds
        from pg_catalog.pg_inherits as link
        join pg_catalog.pg_class as child on child.oid = link.inhrelid
        where link.inhparent = p_table
    )
    select
        part.oid::regclass, left(part.bounds[1], 10), part.bounds[1]::timestamptz,
        part.bounds[2]::timestamptz
    from part
    where part.bounds is not null
    order by 3
$$;
