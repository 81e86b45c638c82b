-- Drops the daily partitions of finished tasks and events that end before a day, unless one of the tables is in use for longer than a
-- moment: that time will come.
-- returns: how many were dropped; none while another session drops them
-- raises: nothing
-- locks: needs rows, skipping locked ones; then the partitioned tables, for each dropped partition
-- notifies: nothing
create or replace function rolecall.drop_partitions(p_before date, p_held bigint[], p_now timestamptz)
returns int
language plpgsql
volatile
set search_path = ''
-- All who read or finish tasks queue behind who waits for these locks: none of them may be held up by one long reader.
set lock_timeout = '100ms'
as $$
begin
    if not pg_try_advisory_xact_lock(hashtext('rolecall.drop_partitions')) then
        return 0;
    end if;
    return rolecall.try_to_drop_partitions(p_before, p_held, p_now);
exception when lock_not_available or deadlock_detected then
    return 0;
end
$$;
