-- Drops the daily partitions of finished tasks and events that end before a day. Finished tasks that must be kept for what they
-- belong to move into the default partition first; a day with too many of them stays, and is emptied row by row.
-- returns: how many were dropped
-- raises: 55P03 while one of the tables is in use: undo this
-- locks: needs rows, skipping locked ones; then the partitioned tables, for each dropped partition
-- notifies: nothing
create or replace function rolecall.try_to_drop_partitions(p_before date, p_held bigint[], p_now timestamptz)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Bounds what is moved while the table is locked against everybody.
    v_most_kept constant int := 10000;
    v_name text;
    v_days text[] := '{}';
    v_kept bigint[] := '{}';
    v_wanted bigint[];
    v_dropped int := 0;
begin
    -- All that takes long comes before the first lock on a table.
    for v_name in select * from rolecall.old_partitions('rolecall.finished_tasks', p_before) loop
        v_wanted := rolecall.wanted_of_partition(v_name, p_held, p_now, v_most_kept + 1);
        continue when cardinality(v_wanted) + cardinality(v_kept) > v_most_kept;
        perform rolecall.forget_needs_of_partition(v_name, v_wanted);
        v_days := v_days || v_name;
        v_kept := v_kept || v_wanted;
    end loop;
    foreach v_name in array v_days loop
        perform rolecall.drop_partition(v_name, v_kept);
        v_dropped := v_dropped + 1;
    end loop;
    for v_name in select * from rolecall.old_partitions('rolecall.task_events', p_before) loop
        execute format('drop table rolecall.%I', v_name);
        v_dropped := v_dropped + 1;
    end loop;
    return v_dropped;
end
$$;
