-- Forgets a schedule; the tasks that it has enqueued stay.
-- returns: whether there was one
-- raises: nothing
-- locks: the schedules row
-- notifies: nothing
create or replace function rolecall.delete_schedule(p_name text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    delete from rolecall.schedules where name = p_name;
    return found;
end
$$;
