-- Runs a schedule now, beside its plan; while the task of an earlier "now" is open, that one stands for it.
-- returns: the task's id
-- raises: RC020 schedule not found, RC021 the schedule's task was refused
-- locks: the schedules row
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.trigger_schedule(p_name text)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_schedule rolecall.schedules;
    v_task_id bigint;
begin
    perform rolecall.require_durability();
    select * into v_schedule from rolecall.schedules where name = p_name for update;
    if not found then
        perform rolecall.refuse('RC020', format('there is no schedule %L', p_name));
    end if;
    v_task_id := rolecall.run_schedule(v_schedule, 'now');
    if v_task_id is null then
        perform rolecall.refuse('RC021', format('schedule %s: %s', p_name, (
            select last_error from rolecall.schedules where name = p_name
        )));
    end if;
    return v_task_id;
end
$$;
