-- Enqueues a schedule's task for one slot, or for now where there is none, once however often it is called,
-- and notes in the schedule and in its history what came of it.
-- returns: the task's id; null when it was refused
-- raises: what passes by itself, such as a lock that was not had in time or a full disk: the slot stays, to
-- be tried again
-- locks: the caller holds the schedules row
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.run_schedule(
    p_schedule rolecall.schedules, p_slot timestamptz, p_missed bigint
)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_slot text := coalesce(extract(epoch from p_slot)::bigint::text, 'now');
    v_task_id bigint;
    v_stood boolean;
    v_error text;
begin
    -- A subtransaction for one schedule: another's bad task must not keep it from running.
    begin
        select stored.ids[1], cardinality(stored.deduplicated) > 0 into v_task_id, v_stood
        from rolecall.store_tasks(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
            'role', p_schedule.role, 'handler', p_schedule.handler, 'priority', p_schedule.priority, 'key',
            p_schedule.key, 'dedupe_key', format('schedule:%s:%s', p_schedule.id, v_slot),
            'scheduled_for', case
                when p_schedule.jitter > '0 s' then p_slot + rolecall.slot_offset(
                    p_schedule.id, p_slot, p_schedule.jitter
                )
            end
        )) || jsonb_build_object('payload', p_schedule.payload)), null) as stored;
    exception
        when connection_exception
            or invalid_transaction_state
            or transaction_rollback
            or insufficient_resources
            or object_not_in_prerequisite_state or operator_intervention or system_error or internal_error
            or sqlstate 'RC090' then
            raise;
        when others then
            v_error := sqlerrm;
    end;
    insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed, task_id, error)
    values (
        p_schedule.id, p_slot, v_now,
        case when v_error is not null then 'refused' when v_stood then 'stood' else 'enqueued' end,
        p_missed, v_task_id, v_error
    );
    update rolecall.schedules
    set last_run_at = v_now, last_error = v_error, last_task_id = coalesce(v_task_id, last_task_id),
        last_task_count = (v_task_id is not null)::int
    where id = p_schedule.id;
    return v_task_id;
end
$$;
