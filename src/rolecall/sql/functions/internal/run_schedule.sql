-- Enqueues a schedule's task for one slot, once however often it is called, and notes what came of it.
-- returns: the task's id; null when it was refused
-- raises: nothing
-- locks: the caller holds the schedules row
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.run_schedule(p_schedule rolecall.schedules, p_slot text)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_task_id bigint;
    v_error text;
begin
    -- A subtransaction for one schedule: another's bad task must not keep it from running.
    begin
        select stored.ids[1] into v_task_id
        from rolecall.store_tasks(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
            'role', p_schedule.role, 'handler', p_schedule.handler, 'priority', p_schedule.priority, 'key', p_schedule.key,
            'dedupe_key', format('schedule:%s:%s', p_schedule.id, p_slot)
        )) || jsonb_build_object('payload', p_schedule.payload)), '{}', '{}') as stored;
    exception when others then
        v_error := sqlerrm;
    end;
    update rolecall.schedules
    set last_run_at = rolecall.clock(), last_error = v_error, last_task_id = coalesce(v_task_id, last_task_id),
        last_task_count = (v_task_id is not null)::int
    where id = p_schedule.id;
    return v_task_id;
end
$$;
