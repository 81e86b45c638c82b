-- Picks up to p_limit tasks of one line, beside those that this claim has taken. The walk starts where the
-- last one stopped, so that the dead rows of finished tasks cost nothing while an old snapshot keeps them; it
-- looks below that floor when it finds nothing else, or now and then.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
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

-- Walks a line from a place on until enough tasks are picked or the line ends. A task with a key goes through
-- the key's lock: the best that wants it is picked, the others are parked.
-- returns: one row: picked tasks with the slot that each wins, which of them won one, and the place up to
-- which nothing is left
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.walk_line(
    p_line_id int, p_claimant rolecall.claimant, p_after rolecall.floor, p_limit int, p_taken bigint[],
    p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[], reached rolecall.floor)
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_after rolecall.floor := p_after;
    v_step int := p_limit;
    v_whole boolean := true;
    v_met text[] := array(
        select task.key from rolecall.tasks as task where task.id = any(p_taken) and task.key is not null
    );
    v_free bigint[];
    v_keys text[];
    v_seen int;
    v_won record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    loop
        -- A parent between two steps has its key already.
        select count(*), array_agg(seen.id) filter (where seen.key is null or seen.key_slot is not null),
            array_agg(distinct seen.key) filter (where seen.key is not null and seen.key_slot is null),
            (array_agg(seen.scheduled_for))[count(*)], (array_agg(seen.id))[count(*)]
        into v_seen, v_free, v_keys, v_after.scheduled_for, v_after.id
        from (
            select task.id, task.key, task.key_slot, task.scheduled_for
            from rolecall.tasks as task
            where task.line_id = p_line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) > (v_after.scheduled_for, v_after.id)
                and task.scheduled_for <= p_now and task.id <> all(p_taken)
                and (task.key is null or task.key_slot is not null or task.key <> all(v_met))
            order by task.scheduled_for, task.id
            limit v_step
            for update skip locked
        ) as seen;
        exit when v_seen = 0;
        if v_keys is null then
            v_whole := v_whole and v_seen <= p_limit - cardinality(ids);
            v_free := v_free[1:p_limit - cardinality(ids)];
            ids := ids || v_free;
            slots := slots || array_fill(null::smallint, array[cardinality(v_free)]);
        else
            select * into v_won from rolecall.settle_keys(
                v_free, v_keys, p_claimant, p_limit - cardinality(ids), p_now
            );
            ids := ids || v_won.ids;
            slots := slots || v_won.slots;
            keyed := keyed || array(
                select won.id from unnest(v_won.ids, v_won.slots) as won (id, slot) where won.slot is not null
            );
            v_met := v_met || v_keys;
            v_whole := v_whole and v_won.whole;
        end if;
        if v_whole then
            reached := v_after;
        end if;
        exit when cardinality(ids) >= p_limit or v_seen < v_step;
        v_step := least(1000, 2 * v_step);
    end loop;
    return next;
end
$$;

-- Decides, of tasks met in a walk, which are picked when some want keys: at most p_limit, in claim order; the
-- rest of a key without room is parked. Sees what others have committed before it got the keys' locks, so
-- that no two claims give one place away twice.
-- returns: one row: picked tasks with the slot that each wins (null: it wants no key, or has its slot
-- already); whole = nothing claimable was left behind
-- locks: keys rows in key order, then tasks rows, all skipping locked ones
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
            select task.line_id, task.scheduled_for
            from rolecall.tasks as task
            where task.id = candidate.id offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id
        order by line.priority desc, task.scheduled_for, candidate.id
        limit p_limit
    )
    select
        (select count(*) from candidate), coalesce(array_agg(picked.id), '{}'),
        coalesce(array_agg(picked.slot), '{}'), array_agg(picked.key) filter (where picked.key is not null)
    into v_offered, ids, slots, v_won
    from picked;
    v_full := array(
        select room.key
        from unnest(v_rooms) as room
        left join (select key, count(*) as number from unnest(v_won) as key group by key) as won using (key)
        where cardinality(room.free) <= coalesce(won.number, 0)
    );
    whole := rolecall.park_losers(v_full, ids, p_now)
        and cardinality(v_locked) = cardinality(p_keys)
        and v_offered <= p_limit;
    return next;
end
$$;

-- Gives the room of keys to the best due tasks that want them, that this claimant may take.
-- returns: the winners, with the slot that each takes
-- locks: the caller holds the keys; the winners, skipping locked ones
create or replace function rolecall.win_keys(
    p_rooms rolecall.key_room[], p_claimant rolecall.claimant, p_now timestamptz
)
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
            array(select key from room order by key), array(select cardinality(free) from room order by key),
            p_now
        )
    ),
    best as materialized (
        select head.key, head.id, row_number() over (
            partition by head.key order by line.priority desc, head.scheduled_for, head.id
        ) as turn
        from head
        join (
            select *
            from rolecall.lines_of_claim(array(select distinct head.line_id from head), p_claimant, p_now)
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

-- Takes the due tasks of keys without room out of the claim's way; who frees a key brings them back, best
-- first. A task that is due later stays where it is: brought back as the best of all, it would keep the due
-- ones waiting for its hour.
-- returns: false when more was to be parked than one call does
-- locks: the caller holds the keys; tasks rows, skipping locked ones
create or replace function rolecall.park_losers(p_keys text[], p_winners bigint[], p_now timestamptz)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Bounds the time of one claim: 5,000 rows take about a twentieth of a second.
    v_bound constant int := 5000;
    v_losers bigint[] := array(
        (
            select task.id from rolecall.tasks as task
            where task.key = any(p_keys) and task.state = 'pending' and task.parked is not true
                and task.key_slot is null
                and task.scheduled_for <= p_now
            limit v_bound + cardinality(p_winners)
        )
        -- Not a join: of arrays the planner expects ten, and would compare a thousand losers with a thousand
        -- winners each.
        except
        select winner from unnest(p_winners) as winner
    );
begin
    if v_losers <> '{}' then
        update rolecall.tasks as loser
        set parked = true
        where loser.id = any(array(
            select task.id from rolecall.tasks as task
            where task.id = any(v_losers) and task.state = 'pending' and task.key_slot is null
            for update skip locked
        ));
    end if;
    return cardinality(v_losers) < v_bound;
end
$$;
