-- Drops the daily partitions of finished tasks and events that end before a day.
-- returns: how many were dropped
-- raises: nothing
-- locks: the partitioned tables, for each dropped partition
-- notifies: nothing
create or replace function rolecall.drop_partitions(p_before date)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_name text;
    v_dropped int := 0;
begin
    for v_name in
        select child.relname
        from pg_catalog.pg_inherits as link
        join pg_catalog.pg_class as child on child.oid = link.inhrelid
        where link.inhparent in ('rolecall.finished_tasks'::regclass, 'rolecall.task_events'::regclass)
            and child.relname ~ '_[0-9]{8}$'
            and to_date(right(child.relname, 8), 'YYYYMMDD') < p_before
        order by child.relname
    loop
        execute format('drop table rolecall.%I', v_name);
        v_dropped := v_dropped + 1;
    end loop;
    return v_dropped;
end
$$;
