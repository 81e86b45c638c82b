-- Runs a schedule now, in addition to its plan. If the task of its last run is open, no new one is
-- enqueued, and that task is made due now.
-- returns: the task's id
-- raises: RC020 schedule not found, RC021 the schedule's task was rejected, RC050 wrong isolation level
-- locks: the schedules row; the pending task of its last run
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.trigger_schedule(p_name text)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
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
    if rolecall.is_open(v_schedule.last_task_id, true) then
        perform rolecall.make_due(rolecall.open_end_of_chain(v_schedule.last_task_id));
        insert into rolecall.schedule_runs (schedule_id, at, outcome, missed, task_id)
        values (v_schedule.id, rolecall.clock(), 'stood', 0, v_schedule.last_task_id);
        return v_schedule.last_task_id;
    end if;
    v_task_id := rolecall.run_schedule(v_schedule, null, 0);
    if v_task_id is null then
        perform rolecall.refuse('RC021', format('schedule %s: %s', p_name, (
            select last_error from rolecall.schedules where name = p_name
        )));
    end if;
    return v_task_id;
end
$$;

-- Makes a pending task due now. Does nothing if it is due, running, waiting or has just finished.
-- raises: RC050 wrong isolation level; nothing of trigger that concerns other tasks
-- locks: as hold_tasks does, if the task is pending and due later
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.make_due(p_task_id bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (
        select from rolecall.tasks as task
        where task.id = p_task_id and task.state = 'pending' and task.scheduled_for > rolecall.clock()
    ) then
        perform rolecall.trigger(array[p_task_id]);
    end if;
exception when sqlstate 'RC002' or sqlstate 'RC003' then
    -- It was claimed or finished while its lock was waited for.
    null;
end
$$;
