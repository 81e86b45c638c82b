-- Drops the next daily partition of a table, finished tasks or events, that ends before a day. Finished tasks that must be kept for what they
-- belong to move into the default partition first; a day with too many of them stays, and is emptied row by row. One that is in use for
-- longer than a moment stays too: that time will come.
-- returns: one row: how many were dropped; up to which partition all is done, null at the end; whether one was in use, with which it ends
-- raises: nothing
-- locks: needs rows, skipping locked ones; then the partitioned table
-- notifies: nothing
create or replace function rolecall.drop_day(p_table regclass, p_after text, p_before date, p_held bigint[], p_now timestamptz)
returns table (number bigint, place text, in_use boolean)
language plpgsql
volatile
set search_path = ''
-- All who read or finish tasks queue behind who waits for these locks: none of them may be held up by one long reader.
set lock_timeout = '100ms'
as $$
declare
    -- Bounds what is moved while the table is locked against everybody.
    v_most_kept constant int := 10000;
    v_wanted bigint[];
begin
    number := 0;
    in_use := false;
    select old.name into place
    from rolecall.old_partitions(p_table, p_before) as old (name)
    where old.name > coalesce(p_after, '') collate "C"
    order by old.name collate "C"
    limit 1;
    if place is null then
        return next;
        return;
    end if;
    if p_table = 'rolecall.task_events'::regclass then
        execute format('drop table rolecall.%I', place);
        number := 1;
        return next;
        return;
    end if;
    -- All that takes long comes before the first lock on a table.
    v_wanted := rolecall.wanted_of_partition(place, p_held, p_now, v_most_kept + 1);
    if cardinality(v_wanted) <= v_most_kept then
        perform rolecall.forget_needs_of_partition(place, v_wanted);
        perform rolecall.drop_partition(place, v_wanted);
        number := 1;
    end if;
    return next;
exception when lock_not_available or deadlock_detected then
    return query select 0::bigint, null::text, true;
end
$$;
