-- Claims pending tasks for a worker: each gets a lease (not beyond its deadline), a deadline, the next fence
-- and the next attempt. p_start is the number of free slots. A task with max_attempts = 1, and one that was
-- lost three times before its start was recorded, is claimed into a free slot only. A worker that passes
-- p_start reports the start of each task with rolecall.start when it begins, and before it calls the handler
-- of a task whose fence exceeds its attempt by three or more; only a task with max_attempts = 1 counts as
-- started from its claim. Without p_start (null) all tasks count as started from their claim. The claim of a
-- task that has a key, or begins its last attempt, is durable when this commits, whatever the session's
-- synchronous_commit says. With p_run above 1, several tasks of a key may share one of its slots: at most
-- p_run, with those that the worker has in that slot already. The worker must run these one after another, in
-- the order of the answer, and none while another one of them waits for its children. Those that follow
-- another one count as prefetched.
-- returns: the claimed tasks in claim order
-- raises: RC050 wrong isolation level
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- public: yes
create or replace function rolecall.claim(
    p_worker_id bigint, p_roles text[], p_handlers text[], p_limit int, p_start int default null,
    p_run int default 1
)
returns setof rolecall.claimed_task
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_picked record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_own_worker(p_worker_id);
    select * into v_picked from rolecall.pick_tasks(
        (p_worker_id, p_roles, p_handlers, false, p_run)::rolecall.claim_terms, p_limit,
        coalesce(p_start, p_limit), v_now
    );
    -- For whoever has slots free only later: there may be more than this answer shows.
    perform set_config('rolecall.held_back', v_picked.held_back::text, true);
    if cardinality(v_picked.ids) = 0 then
        return;
    end if;
    return query
    select *
    from rolecall.give_tasks(
        p_worker_id, v_picked.ids, v_picked.slots, v_picked.line_ids, p_start, v_now
    );
end
$$;

-- Gives tasks that were picked to a worker. Those with max_attempts = 1 count as started, without p_start
-- (null) all do, except those that follow another. p_line_ids has the line of each. One statement returns the
-- rows that it writes, so nothing is stored and sorted.
-- returns: the claimed tasks, in the order in which they were picked
-- locks: the caller holds the tasks, and the keys of which they win a slot
create or replace function rolecall.give_tasks(
    p_worker_id bigint, p_ids bigint[], p_slots smallint[], p_line_ids int[], p_start int, p_now timestamptz
)
returns setof rolecall.claimed_task
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
    return query
    with setting as materialized (
        select
            line.line_id, line.role, line.handler, line.priority, line.lease, line.timeout
        from rolecall.line_settings as line
        where line.line_id = any(array(select distinct given.id from unnest(p_line_ids) as given (id)))
    )
    update rolecall.tasks as task
    set state = 'running', parked = false, worker_id = p_worker_id, fence = task.fence + 1,
        attempt = task.attempt + 1, claimed_at = p_now,
        lease_until = p_now + least(picked.lease, coalesce(task.timeout, picked.timeout)),
        deadline_at = p_now + coalesce(task.timeout, picked.timeout),
        started_at = case
            when picked.slot < 0 then null
            when p_start is null or task.max_attempts = 1 then p_now
        end,
        key_slot = coalesce(task.key_slot, picked.slot)
    from (
        -- In the order of the arrays, in which their tasks are updated, then.
        select given.id, given.slot, own.*
        from unnest(p_ids, p_slots, p_line_ids) as given (id, slot, line_id)
        cross join lateral (select * from setting where setting.line_id = given.line_id offset 0) as own
        offset 0
    ) as picked
    where task.id = picked.id
        -- A crash of the server must not undo who holds a key, or that a last attempt began: somebody else
        -- would begin beside it. The first such task makes this commit durable, as require_durability does.
        and (
            (task.key is null and (task.attempt + 1 >= task.max_attempts) is not true)
            or rolecall.is_durable()
            or set_config('synchronous_commit', 'on', true) = 'on'
        )
    returning
        task.id, task.fence, task.attempt, task.max_attempts, picked.role, picked.handler,
        picked.priority::int, task.payload, task.key, task.chain_id, task.chain_index, task.scheduled_for,
        task.created_at, extract(epoch from picked.lease)::float8,
        extract(epoch from coalesce(task.timeout, picked.timeout))::float8,
        coalesce(task.step_number, 0), task.parent_id, task.error, task.key_slot::int,
        extract(epoch from task.expires_at - p_now)::float8;
end
$$;

-- Picks the next p_limit claimable tasks for somebody: priority first, then scheduled_for, then id. What may
-- only be claimed into a free slot is among the first p_start; where it comes next, nothing after it is
-- picked either.
-- returns: one row: picked tasks in claim order, locked, with the slot of its key that each wins and its
-- line; held_back = the next one waits for a free slot
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.pick_tasks(
    p_claimant rolecall.claim_terms, p_limit int, p_start int, p_now timestamptz
)
returns table (ids bigint[], slots smallint[], line_ids int[], held_back boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keyed bigint[] := '{}';
    v_lines constant int[] := rolecall.open_lines(p_claimant);
    v_level record;
    v_got record;
    v_in_order boolean := true;
begin
    ids := '{}';
    slots := '{}';
    line_ids := '{}';
    held_back := false;
    for v_level in
        select array_agg(line.line_id) as lines, bool_or(line.never_ahead) as some_never_ahead
        from rolecall.lines_of_claim(v_lines, p_claimant, p_now) as line
        group by line.priority
        order by line.priority desc
    loop
        if v_level.some_never_ahead and p_start < p_limit then
            select * into v_got from rolecall.pick_in_two_turns(
                v_level.lines, p_claimant, p_limit - cardinality(ids), p_start - cardinality(ids), v_keyed,
                p_now
            );
            held_back := v_got.held_back;
            v_in_order := false;
        elsif cardinality(v_level.lines) = 1 then
            select * into v_got from rolecall.claim_from_line(
                v_level.lines[1], p_claimant, p_limit - cardinality(ids), v_keyed, p_now
            );
            line_ids := line_ids || array_fill(v_level.lines[1], array[cardinality(v_got.ids)]);
        else
            select * into v_got from rolecall.pick_from_level(
                v_level.lines, p_claimant, p_limit - cardinality(ids), v_keyed, p_now
            );
            v_in_order := false;
        end if;
        ids := ids || v_got.ids;
        v_keyed := v_keyed || v_got.keyed;
        slots := slots || v_got.slots;
        exit when held_back or cardinality(ids) >= p_limit;
    end loop;
    -- Who wins a key may stand in another line than the one that was walked.
    if cardinality(ids) > 0 and (cardinality(v_keyed) > 0 or not v_in_order) then
        select array_agg(picked.id order by line.priority desc, task.scheduled_for, picked.id),
            array_agg(picked.slot order by line.priority desc, task.scheduled_for, picked.id),
            array_agg(line.id order by line.priority desc, task.scheduled_for, picked.id)
        into ids, slots, line_ids
        from unnest(ids, slots) as picked (id, slot)
        cross join lateral (
            select one.line_id, one.scheduled_for from rolecall.tasks as one where one.id = picked.id offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id;
    end if;
    return next;
end
$$;

-- Picks up to p_limit tasks from the lines of one priority, some of which are for free slots only: first, of
-- all of them, what p_free slots take; then, ahead, of the others, unless one that must wait for a slot is
-- the next of all.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one; held_back =
-- the next waits for a free slot
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.pick_in_two_turns(
    p_level int[], p_claimant rolecall.claim_terms, p_limit int, p_free int, p_taken bigint[],
    p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[], held_back boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ahead rolecall.claim_terms := (
        p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, true, p_claimant.run
    );
    v_others int[] := array(
        select line.line_id from rolecall.lines_of_claim(p_level, v_ahead, p_now) as line
    );
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
        select
        from rolecall.share_out(p_level, 1, p_taken || ids, p_now) as head
        where head.line_id <> all(v_others)
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

-- Picks up to p_limit tasks from several lines of one priority, by claim order across them. A line that gives
-- less than its share has no more (its tasks wait for keys, or others have them), and the rest is shared out
-- anew among the others.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.pick_from_level(
    p_level int[], p_claimant rolecall.claim_terms, p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_left int[] := p_level;
    v_taken bigint[] := p_taken;
    v_shared boolean := true;
    v_share record;
    v_got record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    perform rolecall.renew_floors(p_level, p_now);
    while v_shared and cardinality(ids) < p_limit loop
        v_shared := false;
        for v_share in
            select * from rolecall.share_out(v_left, p_limit - cardinality(ids), v_taken, p_now)
            union all
            -- Where nobody has a share, a line may still have something below the floor of this session.
            select line, null from unnest(v_left) as line
        loop
            exit when cardinality(ids) >= p_limit or (v_share.number is null and cardinality(ids) > 0);
            exit when v_share.number is null and v_shared;
            select * into v_got from rolecall.claim_from_line(
                v_share.line_id, p_claimant, least(v_share.number, p_limit - cardinality(ids)), v_taken, p_now
            );
            v_shared := v_share.number is not null;
            if cardinality(v_got.ids) < v_share.number then
                v_left := array_remove(v_left, v_share.line_id);
            end if;
            ids := ids || v_got.ids;
            keyed := keyed || v_got.keyed;
            slots := slots || v_got.slots;
            -- Only a winner of a key can stand in another line than the one that was walked.
            v_taken := v_taken || v_got.keyed;
        end loop;
        v_taken := p_taken || ids;
    end loop;
    return next;
end
$$;

-- Picks up to p_limit tasks of one line, beside those that this claim has taken. The walk starts where the
-- last one stopped, so that the dead rows of finished tasks cost nothing while an old snapshot keeps them; it
-- looks below that floor when it finds nothing else, or now and then.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.claim_from_line(
    p_line_id int, p_claimant rolecall.claim_terms, p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
-- the key's lock: the best that want it are picked, and those that it meets beyond the key's room are parked.
-- returns: one row: picked tasks with the slot that each wins, which of them won one, and the place up to
-- which nothing is left
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.walk_line(
    p_line_id int, p_claimant rolecall.claim_terms, p_after rolecall.floor, p_limit int, p_taken bigint[],
    p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[], reached rolecall.floor)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_after rolecall.floor := p_after;
    v_step int := p_limit;
    v_whole boolean := true;
    -- Bounds the time of one claim: to park 5,000 tasks takes about a twentieth of a second.
    v_may_park int := 5000;
    v_met text[] := array(
        select task.key from rolecall.tasks as task where task.id = any(p_taken) and task.key is not null
    );
    v_full text[] := '{}';
    v_free bigint[];
    v_wanting bigint[];
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
            array_agg(seen.id) filter (where seen.key is not null and seen.key_slot is null),
            array_agg(seen.key) filter (where seen.key is not null and seen.key_slot is null),
            (array_agg(seen.scheduled_for))[count(*)], (array_agg(seen.id))[count(*)]
        into v_seen, v_free, v_wanting, v_keys, v_after.scheduled_for, v_after.id
        from (
            select task.id, task.key, task.key_slot, task.scheduled_for
            from rolecall.tasks as task
            where task.line_id = p_line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) > (v_after.scheduled_for, v_after.id)
                and task.scheduled_for <= p_now and (task.expires_at <= p_now) is not true
                and task.id <> all(p_taken)
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
                v_free, v_wanting, v_keys, v_full, p_claimant, p_limit - cardinality(ids), p_now
            );
            ids := ids || v_won.ids;
            slots := slots || v_won.slots;
            keyed := keyed || array(
                select won.id from unnest(v_won.ids, v_won.slots) as won (id, slot) where won.slot is not null
            );
            v_whole := v_whole and v_won.whole;
            v_full := v_full || v_won.full_keys;
            v_may_park := v_may_park - v_won.parked;
            -- What is met of a full key is parked; of the others this claim has what it can get.
            v_met := v_met || array(select unnest(v_keys) except select unnest(v_full));
            if v_may_park <= 0 then
                v_met := v_met || v_full;
            end if;
        end if;
        if v_whole then
            reached := v_after;
        end if;
        exit when cardinality(ids) >= p_limit or v_seen < v_step;
        -- From here on the walk goes past what may be left of keys that it has met.
        v_whole := v_whole and v_met = '{}';
        v_step := least(1000, 2 * v_step);
    end loop;
    return next;
end
$$;

-- Decides, of tasks met in a walk, which are picked when some want keys (of each, p_keys says which): at most
-- p_limit, in claim order, and better ones that want the same keys before those that were met; null: all, and
-- no others. What was met and wants a key without room, or one of p_full, is parked. Sees what others have
-- committed before it got the keys' locks, so that no two claims give one place away twice.
-- returns: one row: picked tasks with the slot that each wins (null: it wants no key, or has its slot
-- already); the keys without room, and how many were parked; whole = all that was met is picked or parked
-- locks: keys rows in key order, then tasks rows, all skipping locked ones
create or replace function rolecall.settle_keys(
    p_free bigint[], p_wanting bigint[], p_keys text[], p_full text[], p_claimant rolecall.claim_terms,
    p_limit int, p_now timestamptz
)
returns table (ids bigint[], slots smallint[], full_keys text[], parked int, whole boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keys text[] := array(select unnest(p_keys) except select unnest(p_full));
    v_locked text[] := rolecall.lock_keys(v_keys);
    -- Statements of their own from here on: they see what was committed before the locks were had.
    v_rooms rolecall.key_room[] := rolecall.room_for(v_locked, p_claimant, p_now);
    v_won text[];
begin
    with candidate as materialized (
        select won.id, won.key, won.slot
        from rolecall.win_keys(rolecall.first_of_room(v_rooms, p_keys, p_limit), p_claimant, p_now) as won
        where p_limit is not null or won.id = any(p_wanting)
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
    select coalesce(array_agg(picked.id), '{}'), coalesce(array_agg(picked.slot), '{}'),
        array_agg(picked.key) filter (where picked.key is not null)
    into ids, slots, v_won
    from picked;
    full_keys := array(
        select room.key
        from unnest(v_rooms) as room
        left join (select key, count(*) as number from unnest(v_won) as key group by key) as won using (key)
        where cardinality(room.free) <= coalesce(won.number, 0)
    );
    parked := rolecall.park_losers(p_wanting, p_keys, p_full || full_keys, ids);
    whole := not exists (
        (
            select unnest(p_free)
            union all
            select wanting.id from unnest(p_wanting, p_keys) as wanting (id, key)
            where wanting.key <> all(p_full || full_keys)
        )
        except
        select unnest(ids)
    );
    return next;
end
$$;

-- Takes of the room that keys have as much as can be of use: for each as many places as tasks that want it
-- were met (p_wanted: the key of each), or more, where that is less than a fair share of p_limit.
-- returns: one entry a key
create or replace function rolecall.first_of_room(
    p_rooms rolecall.key_room[], p_wanted text[], p_limit int
)
returns rolecall.key_room[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select (room.key, room.capacity, room.free[1:greatest(
            met.number, 1 + p_limit / greatest(cardinality(p_rooms), 1)
        )])::rolecall.key_room
        from unnest(p_rooms) as room
        join (
            select key, count(*)::int as number from unnest(p_wanted) as key group by key
        ) as met using (key)
    )
$$;

-- Gives the room of keys to the best due tasks that want them and that this claimant may take. No task is
-- given while another session has a better one of its key locked: the better one keeps its turn.
-- returns: the winners, with the slot that each takes
-- locks: the caller holds the keys; the winners, skipping locked ones
create or replace function rolecall.win_keys(
    p_rooms rolecall.key_room[], p_claimant rolecall.claim_terms, p_now timestamptz
)
returns table (id bigint, key text, slot smallint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    with placed as materialized (
        select *
        from rolecall.best_of_keys(p_rooms, p_claimant, p_now) with ordinality as best (id, key, slot, turn)
    ),
    mine as materialized (
        select task.id from rolecall.tasks as task
        where task.id = any(array(select placed.id from placed)) and task.state = 'pending'
        order by task.id
        for update skip locked
    )
    select turn.id, turn.key, turn.slot
    from (
        select placed.id, placed.key, placed.slot,
            -- A hashed subplan: the planner expects few rows and would join in nested loops.
            bool_and(placed.id in (select mine.id from mine)) over (
                partition by placed.key order by placed.turn
            ) as is_next
        from placed
    ) as turn
    where turn.is_next;
end
$$;

-- Finds, for the room that keys have, the best due tasks that want it and that this claimant may take. A task
-- that follows another may begin late: it has the priority of the best, and needs no free slot. Tasks with
-- strict keys follow none, and none follows them. Somebody who claims ahead takes no task past a better one
-- that needs a free slot.
-- returns: one row a task, with the slot that it may have; those of a key in their order
create or replace function rolecall.best_of_keys(
    p_rooms rolecall.key_room[], p_claimant rolecall.claim_terms, p_now timestamptz
)
returns table (id bigint, key text, slot smallint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_with_all constant rolecall.claim_terms := (
        p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, false, p_claimant.run
    );
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
    -- Once a line, not once a task.
    line as materialized (
        select open.line_id, open.priority, open.never_ahead, setting.strict_keys
        from rolecall.lines_of_claim(array(select distinct head.line_id from head), v_with_all, p_now) as open
        join rolecall.line_settings as setting using (line_id)
    ),
    best as materialized (
        select head.key, head.id, row_number() over best_first as turn,
            bool_or(line.never_ahead) over best_first as some_never_ahead,
            bool_or(line.strict_keys) over best_first as some_strict,
            line.priority < first_value(line.priority) over best_first as is_behind
        from head
        join line using (line_id)
        window best_first as (
            partition by head.key order by line.priority desc, head.scheduled_for, head.id
        )
    )
    select best.id, best.key, room.free[best.turn]
    from best
    join room using (key)
    where best.turn <= cardinality(room.free)
        and (room.free[best.turn] > 0 or not (
            best.some_never_ahead or best.some_strict or best.is_behind
        ))
        and not (p_claimant.ahead and best.some_never_ahead)
    order by best.key, best.turn;
end
$$;

-- Takes those of some tasks out of the claim's way that want keys without room (of each, p_wanted says what
-- it wants); who frees a key brings them back, best first.
-- returns: how many
-- locks: the caller holds the keys; tasks rows, skipping locked ones
create or replace function rolecall.park_losers(
    p_ids bigint[], p_wanted text[], p_keys text[], p_winners bigint[]
)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_losers bigint[] := array(
        select wanting.id from unnest(p_ids, p_wanted) as wanting (id, key) where wanting.key = any(p_keys)
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
    return cardinality(v_losers);
end
$$;
