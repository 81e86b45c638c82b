-- Decides, of tasks met in a walk, which are picked when some want keys: at most p_limit, in claim order; the rest of a key
-- without room is parked.
-- returns: one row: picked tasks, those with a key, their slots; whole = nothing claimable was left behind
-- raises: nothing
-- locks: keys rows in key order, then tasks rows, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.settle_keys(
    p_free bigint[], p_keys text[], p_line_ids int[], p_limit int, p_now timestamptz
)
returns table (ids bigint[], keyed bigint[], slots smallint[], whole boolean)
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    v_offered int;
begin
    with candidate as materialized (
        select won.id, won.slot from rolecall.win_keys(p_keys, p_line_ids, p_now) as won
        union all
        select free.id, null from unnest(p_free) as free (id)
    ),
    picked as materialized (
        select candidate.id, candidate.slot
        from candidate
        join rolecall.tasks as task using (id)
        join rolecall.lines as line on line.id = task.line_id
        order by line.priority desc, task.scheduled_for, task.id
        limit p_limit
    )
    select
        (select count(*) from candidate), coalesce(array_agg(picked.id), '{}'),
        coalesce(array_agg(picked.id) filter (where picked.slot is not null), '{}'),
        coalesce(array_agg(picked.slot) filter (where picked.slot is not null), '{}')
    into v_offered, ids, keyed, slots
    from picked;
    whole := rolecall.park_losers(p_keys, keyed) and v_offered <= p_limit;
    return next;
end
$$;
