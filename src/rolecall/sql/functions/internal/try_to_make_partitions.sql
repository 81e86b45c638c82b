-- Makes the daily partitions of finished tasks and events, from today on.
-- returns: how many partitions were made
-- raises: 55P03 while the tables are in use: undo this and try again
-- locks: the partitioned tables, where a day's partition lacks
-- notifies: nothing
create or replace function rolecall.try_to_make_partitions(p_days_ahead int)
returns int
language plpgsql
volatile
set search_path = ''
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
