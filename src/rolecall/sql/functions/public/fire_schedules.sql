-- Runs the schedules with an interval that are due: each enqueues its task and moves on to its next slot in the same transaction.
-- Of slots that passed while nobody ticked, its policy says which are run.
-- returns: one row a slot that was dealt with; its task, where it has one
-- raises: nothing: a schedule whose task is refused keeps the error and moves on
-- locks: schedules rows, skipping locked ones; then what `cancel` locks
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.fire_schedules(p_limit int default 100)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_due rolecall.schedules[];
begin
    perform rolecall.require_read_committed();
    v_due := array(
        select due from rolecall.schedules as due
        where due.enabled and due.every is not null and due.next_run_at <= v_now
        order by due.next_run_at, due.id
        limit p_limit
        for update skip locked
    );
    if v_due = '{}' then
        return;
    end if;
    perform rolecall.require_durability();
    perform rolecall.make_way(v_due);
    return query
    select fired.schedule, fired.task_id
    from unnest(v_due) with ordinality as due
    cross join lateral (
        select floor(extract(epoch from v_now - due.next_run_at) / extract(epoch from due.every))::bigint as passed
    ) as late
    cross join lateral rolecall.run_due_slots(
        v_due[due.ordinality::int],
        array(
            select due.next_run_at + n * due.every
            from generate_series(greatest(0, late.passed - 99), late.passed) as n
        ),
        late.passed + 1,
        due.next_run_at + (late.passed + 1) * due.every
    ) as fired
    order by due.ordinality;
end
$$;
