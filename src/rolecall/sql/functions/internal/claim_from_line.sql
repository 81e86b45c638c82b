-- Picks up to p_limit tasks of one line. The walk starts where the last one stopped, so that the dead rows of finished tasks
-- cost nothing while an old snapshot keeps them; it looks below that floor when it finds nothing else, or now and then,
-- for a twentieth of its time at most.
-- returns: one row: picked tasks, locked; those of them with a key and the slots they take
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.claim_from_line(p_line_id int, p_line_ids int[], p_limit int, p_now timestamptz)
returns table (ids bigint[], keyed bigint[], slots smallint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_began timestamptz := clock_timestamp();
    v_start constant rolecall.floor := ('-infinity', 0, null);
    v_floor rolecall.floor := nullif(current_setting('rolecall.floor_' || p_line_id, true), '')::rolecall.floor;
    v_reached rolecall.floor;
begin
    if v_floor.look_below_at > v_began then
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_line_ids, v_floor, p_limit, p_now) as walk;
    end if;
    if ids is null or (cardinality(ids) = 0 and v_floor.look_below_at < v_began + interval '1 s') then
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_line_ids, v_start, p_limit, p_now) as walk;
        v_floor.look_below_at := clock_timestamp() + greatest('50 ms', 19 * (clock_timestamp() - v_began));
    end if;
    if v_reached.scheduled_for is not null then
        v_reached.look_below_at := v_floor.look_below_at;
        perform set_config('rolecall.floor_' || p_line_id, v_reached::text, false);
    end if;
    return next;
end
$$;
