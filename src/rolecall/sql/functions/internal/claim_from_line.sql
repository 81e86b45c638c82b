-- Picks up to p_limit tasks of one line, beside those that this claim has taken. The walk starts where the last one stopped, so
-- that the dead rows of finished tasks cost nothing while an old snapshot keeps them; it looks below that floor when it finds
-- nothing else, or now and then.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.claim_from_line(
    p_line_id int, p_claimant rolecall.claimant, p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_began timestamptz := clock_timestamp();
    v_floor rolecall.floor := rolecall.line_floor(p_line_id);
    v_reached rolecall.floor;
begin
    if v_floor.look_below_at > v_began then
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_claimant, v_floor, p_limit, p_taken, p_now) as walk;
    end if;
    if ids is null or (cardinality(ids) = 0 and v_floor.look_below_at < v_began + interval '1 s') then
        v_floor := rolecall.look_below(p_line_id, p_now);
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_claimant, v_floor, p_limit, p_taken, p_now) as walk;
    end if;
    if v_reached.scheduled_for is not null then
        v_reached.look_below_at := v_floor.look_below_at;
        perform set_config('rolecall.floor_' || p_line_id, v_reached::text, false);
    end if;
    return next;
end
$$;
