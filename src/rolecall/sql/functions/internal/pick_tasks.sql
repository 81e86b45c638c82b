-- Picks the next p_limit claimable tasks of some roles and handlers: priority first, then scheduled_for, then id.
-- returns: one row: picked tasks, locked; those of them with a key and the slots they take
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
        where (p_roles = '{}' or setting.role = any(p_roles)) and setting.handler = any(p_handlers) and not setting.paused
    );
    v_level record;
    v_line record;
    v_got record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    for v_level in
        select array_agg(line.id) as lines from rolecall.lines as line
        where line.id = any(v_all) group by line.priority order by line.priority desc
    loop
        for v_line in
            select v_level.lines[1] as line_id, p_limit as number where cardinality(v_level.lines) = 1
            union all
            select share.* from rolecall.share_out(v_level.lines, p_limit - cardinality(ids), p_now) as share
            where cardinality(v_level.lines) > 1
        loop
            continue when cardinality(ids) >= p_limit;
            select * into v_got from rolecall.claim_from_line(
                v_line.line_id, v_all, least(v_line.number, p_limit - cardinality(ids)), p_now
            );
            ids := ids || v_got.ids;
            keyed := keyed || v_got.keyed;
            slots := slots || v_got.slots;
        end loop;
        exit when cardinality(ids) >= p_limit;
    end loop;
    return next;
end
$$;
