-- Makes the daily partitions of finished tasks and events, from today on; a day whose rows already stand in
-- the default partition stays there.
-- returns: how many partitions were made
-- raises: 55P03 when somebody has used the tables at each of five tries, some three seconds long: none was
-- made, call it again later
-- locks: the partitioned tables, for each new partition
-- public: yes
create or replace function rolecall.make_partitions(p_days_ahead int default 7)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- All who read or finish tasks queue behind who waits for these locks: none of them may be held up by one
-- long reader.
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

-- Makes the daily partitions of finished tasks and events, from today on.
-- returns: how many partitions were made
-- raises: 55P03 while the tables are in use: undo this and try again
-- locks: the partitioned tables, where a day's partition lacks
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

-- Makes one day's partition of a table, unless it stands or the default partition already has rows of that
-- day.
-- returns: 1 when it was made, else 0
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
        'select to_regclass(%L) is not null or exists (select from rolecall.%I where %I >= $1 and %I < $2)',
        'rolecall.' || v_name, p_table || '_default', p_column, p_column
    );
    v_settled boolean;
begin
    execute v_is_settled into v_settled using v_from, v_to;
    if not v_settled then
        -- Rows of that day, or another maker, may be on their way: wait for them, and let none follow.
        execute format('lock table rolecall.%I in access exclusive mode', p_table);
        execute v_is_settled into v_settled using v_from, v_to;
    end if;
    if v_settled then
        return 0;
    end if;
    execute format(
        'create table rolecall.%I partition of rolecall.%I for values from (%L) to (%L)', v_name, p_table,
        v_from, v_to
    );
    -- Its parent's is not inherited.
    execute format('alter table rolecall.%I replica identity full', v_name);
    return 1;
end
$$;

-- Lists the daily partitions of a table that end before a day, oldest first.
-- returns: their names
create or replace function rolecall.old_partitions(p_table regclass, p_before date)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select child.relname
    from pg_catalog.pg_inherits as link
    join pg_catalog.pg_class as child on child.oid = link.inhrelid
    where link.inhparent = p_table and child.relname ~ '_[0-9]{8}$'
        and to_date(right(child.relname, 8), 'YYYYMMDD') < p_before
    order by child.relname
$$;
