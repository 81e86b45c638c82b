-- Finds the parked tasks of keys that have room for them: the best of each role and handler, as many as there
-- is room for.
-- returns: one row a task
create or replace function rolecall.parked_heads(p_keys text[])
returns table (key text, id bigint, line_id int)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_keys text[];
    v_rooms int[];
begin
    select array_agg(room.key), array_agg(cardinality(room.free)) into v_keys, v_rooms
    from rolecall.room_of_keys(p_keys) as room
    where room.free <> '{}';
    return query
    with head as materialized (
        select * from rolecall.heads_of_keys(v_keys, v_rooms, rolecall.clock())
    ),
    ranked as (
        select head.key, head.id, head.parked, head.line_id, row_number() over (
            partition by head.key, line.role, line.handler, line.misfit_for order by line.priority desc,
            head.scheduled_for, head.id
        ) as turn
        from head
        join (
            select line.id as line_id, line.role, line.handler, line.misfit_for, line.priority
            from rolecall.lines as line
            where line.id = any(array(select distinct head.line_id from head))
        ) as line using (line_id)
    )
    select ranked.key, ranked.id, ranked.line_id
    from ranked
    join unnest(v_keys, v_rooms) as room (key, number) using (key)
    where ranked.parked and ranked.turn <= room.number;
end
$$;
