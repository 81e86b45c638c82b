-- Decides, of tasks met in a walk, which are picked when some want keys: at most p_limit, in claim order; the rest of a key
-- without room is parked. Sees what others have committed before it got the keys' locks, so that no two claims give one place away
-- twice.
-- returns: one row: picked tasks with the slot that each wins (null: it wants no key, or has its slot already); whole = nothing claimable was left behind
-- raises: nothing
-- locks: keys rows in key order, then tasks rows, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.settle_keys(
    p_free bigint[], p_keys text[], p_claimant rolecall.claimant, p_limit int, p_now timestamptz
)
returns table (ids bigint[], slots smallint[], whole boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_locked text[] := rolecall.lock_keys(p_keys);
    -- Statements of their own from here on: they see what was committed before the locks were had.
    v_rooms rolecall.key_room[] := array(select room from rolecall.room_of_keys(v_locked) as room);
    v_offered int;
    v_won text[];
    v_full text[];
begin
    with candidate as materialized (
        select won.id, won.key, won.slot from rolecall.win_keys(v_rooms, p_claimant, p_now) as won
        union all
        select free.id, null, null from unnest(p_free) as free (id)
    ),
    picked as materialized (
        select candidate.*
        from candidate
        -- By the id of each, whatever the statistics say.
        cross join lateral (
            select task.line_id, task.scheduled_for from rolecall.tasks as task where task.id = candidate.id offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id
        order by line.priority desc, task.scheduled_for, candidate.id
        limit p_limit
    )
    select
        (select count(*) from candidate), coalesce(array_agg(picked.id), '{}'), coalesce(array_agg(picked.slot), '{}'),
        array_agg(picked.key) filter (where picked.key is not null)
    into v_offered, ids, slots, v_won
    from picked;
    v_full := array(
        select room.key
        from unnest(v_rooms) as room
        left join (select key, count(*) as number from unnest(v_won) as key group by key) as won using (key)
        where cardinality(room.free) <= coalesce(won.number, 0)
    );
    whole := rolecall.park_losers(v_full, ids, p_now) and cardinality(v_locked) = cardinality(p_keys) and v_offered <= p_limit;
    return next;
end
$$;
