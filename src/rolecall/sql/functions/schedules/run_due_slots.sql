-- Runs the slots of a schedule that have come, as its policies for missed slots and for open runs say, and
-- moves it on to the next. Given are the latest of the slots that have come, the oldest first, and how many
-- have come in all. A slot is late when the tick comes more than a minute after it.
-- returns: one row a slot that was dealt with; its task, where it has one
-- raises: nothing: a task that is refused is noted
-- locks: the caller holds the schedules row
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.run_due_slots(
    p_schedule rolecall.schedules, p_slots timestamptz[], p_come bigint, p_next timestamptz
)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_chosen timestamptz[] := case p_schedule.misfire
        when 'all' then p_slots
        else p_slots[cardinality(p_slots):]
    end;
    v_missed bigint := p_come - cardinality(v_chosen);
    v_outcome text := case
        when p_schedule.misfire = 'skip' and v_chosen[1] < v_now - interval '1 minute' then 'missed'
        when p_schedule.overlap = 'skip' and rolecall.is_open(p_schedule.last_task_id, true) then 'skipped'
    end;
    v_slot timestamptz;
begin
    schedule := p_schedule.name;
    foreach v_slot in array v_chosen loop
        if v_outcome is null then
            task_id := rolecall.run_schedule(p_schedule, v_slot, v_missed);
        else
            insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed)
            values (p_schedule.id, v_slot, v_now, v_outcome, v_missed);
        end if;
        v_missed := 0;
        return next;
    end loop;
    update rolecall.schedules set next_run_at = p_next where id = p_schedule.id;
end
$$;
