-- Runs the schedules that are due: each enqueues one task and moves on to its next slot in the same transaction. Slots that
-- passed while nobody ticked come to one run.
-- returns: one row a fired schedule
-- raises: nothing: a schedule whose task is refused keeps the error and moves on
-- locks: schedules rows, skipping locked ones
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.fire_schedules(p_limit int default 100)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_due rolecall.schedules;
begin
    perform rolecall.require_read_committed();
    for v_due in
        select * from rolecall.schedules as due
        where due.enabled and due.next_run_at <= v_now
        order by due.next_run_at, due.id
        limit p_limit
        for update skip locked
    loop
        perform rolecall.require_durability();
        schedule := v_due.name;
        task_id := rolecall.run_schedule(v_due, extract(epoch from v_due.next_run_at)::bigint::text);
        update rolecall.schedules as fired
        set next_run_at = v_due.next_run_at
            + ceil(extract(epoch from v_now - v_due.next_run_at + interval '1 microsecond')
                / extract(epoch from v_due.every)) * v_due.every
        where fired.id = v_due.id;
        return next;
    end loop;
end
$$;
