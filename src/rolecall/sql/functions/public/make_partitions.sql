-- Makes the daily partitions of finished tasks and events, from today on; a day whose rows already stand in the default
-- partition stays there.
-- returns: how many partitions were made
-- raises: 55P03 when somebody has used the tables at each of five tries, some three seconds long: none was made, call it again later
-- locks: the partitioned tables, for each new partition
-- notifies: nothing
create or replace function rolecall.make_partitions(p_days_ahead int default 7)
returns int
language plpgsql
volatile
set search_path = ''
-- All who read or finish tasks queue behind who waits for these locks: none of them may be held up by one long reader.
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
