-- Runs the schedules with an interval that are due: each enqueues its task and moves on to its next slot in
-- the same transaction. Of slots that passed while nobody ticked, its policy says which are run. One that
-- cannot make way for its next run, because of somebody's open transaction, stays due.
-- returns: one row a slot that was dealt with; its task, where it has one
-- raises: RC050 wrong isolation level; not for a schedule whose task is refused: that keeps the error and
-- moves on
-- locks: schedules rows, skipping locked ones; then what `cancel` locks
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.fire_schedules(p_limit int default 100)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_due rolecall.schedules;
    v_passed bigint;
begin
    perform rolecall.require_read_committed();
    for v_due in
        select due.* from rolecall.schedules as due
        where due.enabled and due.every is not null and due.next_run_at <= v_now
        order by due.next_run_at, due.id
        limit p_limit
        for update skip locked
    loop
        perform rolecall.require_durability();
        continue when not rolecall.make_way(v_due);
        v_passed := floor(extract(epoch from v_now - v_due.next_run_at) / extract(epoch from v_due.every));
        return query
        select * from rolecall.run_due_slots(
            v_due,
            array(
                select v_due.next_run_at + n * v_due.every
                from generate_series(greatest(0, v_passed - 99), v_passed) as n
            ),
            v_passed + 1,
            v_due.next_run_at + (v_passed + 1) * v_due.every
        );
    end loop;
end
$$;
