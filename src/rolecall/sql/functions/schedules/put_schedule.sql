-- Stores a schedule or changes the one of that name, for a person; what is not said keeps its value. A new
-- one first runs at first_run_at, else an interval at once and a cron expression when it says so; a changed
-- interval counts from the last run. `revision` says which state the change is meant for: 0 for a schedule
-- that is to be new.
-- returns: the schedule's id
-- raises: RC021 invalid schedule, RC022 it stands already or may not be changed so, RC023 it was changed
-- meanwhile, RC031 unknown role, RC040 what is no task
-- locks: the schedules row
-- public: yes
create or replace function rolecall.put_schedule(p_schedule jsonb)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select rolecall.store_schedule(p_schedule, null)
$$;
