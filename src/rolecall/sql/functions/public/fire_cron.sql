-- Runs schedules with a cron expression for the slots that were computed for them. A plan counts only while the schedule stands where
-- the plan starts from: whoever comes second with the same one changes nothing.
-- p_plans: objects of id, revision and planned_from (its next_run_at), as due_cron gave them; slots, the latest hundred at most; come,
--          how many there were in all; next, or the error that says why there is none, with which the schedule is disabled
-- returns: one row a slot that was dealt with; its task, where it has one
-- raises: nothing: a schedule whose task is refused keeps the error and moves on
-- locks: schedules rows, skipping locked ones; then what `cancel` locks
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.fire_cron(p_plans jsonb)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_due rolecall.schedules[];
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    v_due := array(
        select due
        from jsonb_to_recordset(p_plans) as plan (id bigint, revision int, planned_from timestamptz)
        join rolecall.schedules as due on due.id = plan.id and due.revision = plan.revision
            and due.next_run_at = plan.planned_from and due.enabled
        order by due.next_run_at, due.id
        for update of due skip locked
    );
    perform rolecall.make_way(v_due);
    return query
    select fired.schedule, fired.task_id
    from unnest(v_due) with ordinality as due
    join jsonb_to_recordset(p_plans) as plan (id bigint, slots timestamptz[], come bigint, next timestamptz) using (id)
    cross join lateral rolecall.run_due_slots(
        v_due[due.ordinality::int], plan.slots, plan.come, coalesce(plan.next, due.next_run_at)
    ) as fired
    order by due.ordinality;
    update rolecall.schedules as stuck
    set enabled = false, last_error = plan.error, revision = stuck.revision + 1
    from jsonb_to_recordset(p_plans) as plan (id bigint, next timestamptz, error text)
    where stuck.id = plan.id and plan.next is null and stuck.id in (select due.id from unnest(v_due) as due);
end
$$;
