-- Picks the next p_limit claimable tasks for somebody: priority first, then scheduled_for, then id. What may only be claimed into a
-- free slot is among the first p_start; where it comes next, nothing after it is picked either.
-- returns: one row: picked tasks in claim order, locked, with the slot of its key that each wins; held_back = the next one waits for a
--          free slot
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.choose_tasks(p_claimant rolecall.claimant, p_limit int, p_start int, p_now timestamptz)
returns table (ids bigint[], slots smallint[], held_back boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_keyed bigint[] := '{}';
    v_level record;
    v_got record;
    v_in_order boolean := true;
begin
    ids := '{}';
    slots := '{}';
    held_back := false;
    for v_level in
        select array_agg(line.line_id) as lines, bool_or(line.never_ahead) as some_never_ahead
        from rolecall.lines_of_claim(rolecall.open_lines(), p_claimant, p_now) as line
        group by line.priority
        order by line.priority desc
    loop
        if v_level.some_never_ahead and p_start < p_limit then
            select * into v_got from rolecall.pick_in_two_turns(
                v_level.lines, p_claimant, p_limit - cardinality(ids), p_start - cardinality(ids), v_keyed, p_now
            );
            held_back := v_got.held_back;
            v_in_order := false;
        elsif cardinality(v_level.lines) = 1 then
            select * into v_got from rolecall.claim_from_line(
                v_level.lines[1], p_claimant, p_limit - cardinality(ids), v_keyed, p_now
            );
        else
            select * into v_got from rolecall.pick_from_level(
                v_level.lines, p_claimant, p_limit - cardinality(ids), v_keyed, p_now
            );
            v_in_order := false;
        end if;
        ids := ids || v_got.ids;
        v_keyed := v_keyed || v_got.keyed;
        slots := slots || v_got.slots;
        exit when held_back or cardinality(ids) >= p_limit;
    end loop;
    if cardinality(ids) > 1 and (cardinality(v_keyed) > 0 or not v_in_order) then
        select array_agg(picked.id order by line.priority desc, task.scheduled_for, picked.id),
            array_agg(picked.slot order by line.priority desc, task.scheduled_for, picked.id)
        into ids, slots
        from unnest(ids, slots) as picked (id, slot)
        cross join lateral (
            select one.line_id, one.scheduled_for from rolecall.tasks as one where one.id = picked.id offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id;
    end if;
    return next;
end
$$;
