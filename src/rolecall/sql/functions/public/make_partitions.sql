-- Makes the daily partitions of finished tasks and events, from today on; a day whose rows already stand in the default
-- partition stays there.
-- returns: how many partitions were made
-- raises: nothing
-- locks: the partitioned tables, for each new partition
-- notifies: nothing
create or replace function rolecall.make_partitions(p_days_ahead int default 7)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_today date := (rolecall.clock() at time zone 'utc')::date;
    v_made int := 0;
begin
    -- One maker at a time: two would both find a partition missing.
    perform pg_advisory_xact_lock(hashtext('rolecall.make_partitions'));
    for v_ahead in 0..p_days_ahead loop
        v_made := v_made
            + rolecall.make_partition('finished_tasks', 'finished_at', v_today + v_ahead)
            + rolecall.make_partition('task_events', 'at', v_today + v_ahead);
    end loop;
    return v_made;
end
$$;
