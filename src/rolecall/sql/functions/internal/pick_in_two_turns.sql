-- Picks up to p_limit tasks from the lines of one priority, some of which are for free slots only: first, of all of them, what p_free
-- slots take; then, ahead, of the others, unless one that must wait for a slot is the next of all.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one; held_back = the next waits for a free slot
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.pick_in_two_turns(
    p_level int[], p_claimant rolecall.claimant, p_limit int, p_free int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[], held_back boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_ahead rolecall.claimant := (p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, true);
    v_others int[] := array(select line.line_id from rolecall.lines_of_claim(p_level, v_ahead, p_now) as line);
    v_got record;
begin
    ids := '{}';
    slots := '{}';
    keyed := '{}';
    held_back := false;
    if p_free > 0 then
        select * into ids, slots, keyed
        from rolecall.pick_from_level(p_level, p_claimant, least(p_free, p_limit), p_taken, p_now);
        if cardinality(ids) < p_free then
            return next;
            return;
        end if;
    end if;
    -- The walks that follow start from the same floors.
    perform rolecall.renew_floors(p_level, p_now);
    held_back := exists (
        select from rolecall.share_out(p_level, 1, p_taken || ids, p_now) as head where head.line_id <> all(v_others)
    );
    if not held_back and v_others <> '{}' and cardinality(ids) < p_limit then
        select * into v_got
        from rolecall.pick_from_level(v_others, v_ahead, p_limit - cardinality(ids), p_taken || ids, p_now);
        ids := ids || v_got.ids;
        slots := slots || v_got.slots;
        keyed := keyed || v_got.keyed;
    end if;
    return next;
end
$$;
