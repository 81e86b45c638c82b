-- Runs schedules with a cron expression for the slots that were computed for them. A plan counts only while
-- the schedule stands where the plan starts from: whoever comes second with the same one changes nothing.
-- p_plans: objects of id, revision and planned_from (its next_run_at), as due_cron gave them; slots, the
-- latest hundred at most; come, how many there were in all; next, or the error that says why there is none,
-- with which the schedule is disabled One that cannot make way for its next run, because of somebody's open
-- transaction, stays due.
-- returns: one row a slot that was dealt with; its task, where it has one
-- raises: RC050 wrong isolation level; not for a schedule whose task is refused: that keeps the error and
-- moves on
-- locks: schedules rows, skipping locked ones; then what `cancel` locks
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.fire_cron(p_plans jsonb)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_due record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    for v_due in
        select due as schedule, plan.slots, plan.come, plan.next, plan.error
        from jsonb_to_recordset(p_plans) as plan (
            id bigint, revision int, planned_from timestamptz, slots timestamptz[], come bigint,
            next timestamptz, error text
        )
        join rolecall.schedules as due on due.id = plan.id and due.revision = plan.revision
            and due.next_run_at = plan.planned_from and due.enabled
        order by due.next_run_at, due.id
        for update of due skip locked
    loop
        continue when not rolecall.make_way(v_due.schedule);
        return query
        select * from rolecall.run_due_slots(
            v_due.schedule, v_due.slots, v_due.come, coalesce(v_due.next, (v_due.schedule).next_run_at)
        );
        if v_due.next is null then
            update rolecall.schedules as stuck
            set enabled = false, last_error = v_due.error, revision = stuck.revision + 1
            where stuck.id = (v_due.schedule).id;
        end if;
    end loop;
end
$$;
