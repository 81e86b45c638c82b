-- Gives the room of keys to the best due tasks that want them, that this claimant may take.
-- returns: the winners, with the slot that each takes
-- raises: nothing
-- locks: the caller holds the keys; the winners, skipping locked ones
-- notifies: nothing
create or replace function rolecall.win_keys(p_rooms rolecall.key_room[], p_claimant rolecall.claimant, p_now timestamptz)
returns table (id bigint, key text, slot smallint)
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
    return query
    with room as materialized (
        select * from unnest(p_rooms) where free <> '{}'
    ),
    head as materialized (
        select * from rolecall.heads_of_keys(
            array(select key from room order by key), array(select cardinality(free) from room order by key), p_now
        )
    ),
    best as materialized (
        select head.key, head.id, row_number() over (
            partition by head.key order by line.priority desc, head.scheduled_for, head.id
        ) as turn
        from head
        join (
            select * from rolecall.lines_of_claim(array(select distinct head.line_id from head), p_claimant, p_now)
        ) as line using (line_id)
    ),
    placed as materialized (
        select best.id, best.key, room.free[best.turn] as slot
        from best
        join room using (key)
        where best.turn <= cardinality(room.free)
    ),
    mine as materialized (
        select task.id from rolecall.tasks as task
        where task.id = any(array(select placed.id from placed)) and task.state = 'pending'
        order by task.id
        for update skip locked
    )
    select placed.id, placed.key, placed.slot from mine join placed using (id);
end
$$;
