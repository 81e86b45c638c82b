-- Picks the next p_limit claimable tasks of some roles and handlers: priority first, then scheduled_for, then id.
-- returns: one row: picked tasks in claim order, locked; those of them with a key and the slots they take
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.pick_tasks(p_roles text[], p_handlers text[], p_limit int, p_now timestamptz)
returns table (ids bigint[], keyed bigint[], slots smallint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_all int[] := array(
        select setting.line_id from rolecall.line_settings as setting
        where (p_roles = '{}' or setting.role = any(p_roles)) and setting.handler = any(p_handlers)
            and (not setting.paused or setting.paused_until <= p_now)
    );
    v_level record;
    v_got record;
    v_in_order boolean := true;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    for v_level in
        select array_agg(line.id) as lines from rolecall.lines as line
        where line.id = any(v_all) group by line.priority order by line.priority desc
    loop
        if cardinality(v_level.lines) = 1 then
            select * into v_got from rolecall.claim_from_line(
                v_level.lines[1], v_all, p_limit - cardinality(ids), keyed, p_now
            );
        else
            select * into v_got from rolecall.pick_from_level(v_level.lines, v_all, p_limit - cardinality(ids), keyed, p_now);
            v_in_order := false;
        end if;
        ids := ids || v_got.ids;
        keyed := keyed || v_got.keyed;
        slots := slots || v_got.slots;
        exit when cardinality(ids) >= p_limit;
    end loop;
    if cardinality(ids) > 1 and (cardinality(keyed) > 0 or not v_in_order) then
        ids := array(
            select task.id from rolecall.tasks as task
            join rolecall.lines as line on line.id = task.line_id
            where task.id = any(ids)
            order by line.priority desc, task.scheduled_for, task.id
        );
    end if;
    return next;
end
$$;
