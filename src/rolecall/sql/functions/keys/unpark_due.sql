-- Goes on with bringing back what is parked though its key has room, where a pass is under way or a minute
-- has gone since the last one; call it again until there is no more.
-- returns: one row: what unpark has brought back, and whether the pass goes on; none when it is not time, or
-- another session is at it
-- raises: RC050 wrong isolation level
-- locks: the pass's row, skipping it where it is locked; keys and tasks as unpark does
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.unpark_due(p_limit int default 1000)
returns table (ids bigint[], more boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_place text;
    v_reached text;
begin
    select pass.place
    into v_place
    from rolecall.unpark_pass as pass
    where pass.next_at <= v_now
    for update skip locked;
    if not found then
        return;
    end if;
    select step.ids, step.reached into ids, v_reached from rolecall.unpark(v_place, p_limit) as step;
    more := v_reached is not null;
    update rolecall.unpark_pass
    set place = coalesce(v_reached, ''),
        next_at = v_now + case when more then '0 s' else '1 min' end::interval;
    return next;
end
$$;
