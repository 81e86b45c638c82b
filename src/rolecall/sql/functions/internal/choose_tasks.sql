-- Picks the next p_limit claimable tasks of some roles and handlers: priority first, then scheduled_for, then id.
-- returns: one row: picked tasks in claim order, locked, with the slot of its key that each wins
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.choose_tasks(p_roles text[], p_handlers text[], p_limit int, p_now timestamptz)
returns table (ids bigint[], slots smallint[])
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
    for v_level in
        select array_agg(line.line_id) as lines
        from rolecall.lines_of_claim(rolecall.open_lines(), p_roles, p_handlers, p_now) as line
        group by line.priority
        order by line.priority desc
    loop
        if cardinality(v_level.lines) = 1 then
            select * into v_got from rolecall.claim_from_line(
                v_level.lines[1], p_roles, p_handlers, p_limit - cardinality(ids), v_keyed, p_now
            );
        else
            select * into v_got from rolecall.pick_from_level(
                v_level.lines, p_roles, p_handlers, p_limit - cardinality(ids), v_keyed, p_now
            );
            v_in_order := false;
        end if;
        ids := ids || v_got.ids;
        v_keyed := v_keyed || v_got.keyed;
        slots := slots || v_got.slots;
        exit when cardinality(ids) >= p_limit;
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
