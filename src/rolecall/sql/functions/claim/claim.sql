-- Claims pending tasks for a worker. Each gets a lease (not beyond its deadline), a deadline, the next
-- fence and the next attempt. p_start is the number of free slots. Tasks with max_attempts = 1, and
-- suspects that have never started, are claimed only into a free slot. A worker that passes p_start must
-- call rolecall.start when a task begins, and before it calls the handler of a task whose fence exceeds its
-- attempt by three or more; only tasks with max_attempts = 1 count as started from their claim. If p_start
-- is null, all tasks do. If a claimed task has a key, or begins its last attempt, the claim's commit is
-- durable regardless of synchronous_commit. With p_run above 1, sequences are claimed: several tasks of one
-- key under one permit, at most p_run including those that the worker already holds there. The worker must
-- run them one after another in the order of the result, and none while an earlier one waits for its
-- children. Those that follow count as prefetched.
-- returns: the claimed tasks in claim order
-- raises: RC050 wrong isolation level
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- notifies: rolecall_wake, if tasks of a key are left for an idle worker
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
        (p_worker_id, p_roles, p_handlers, false, p_run, p_start)::rolecall.claim_terms, p_limit,
        coalesce(p_start, p_limit), v_now
    );
    -- For workers whose slots become free later: more tasks may be claimable than were returned.
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

-- Assigns picked tasks to a worker. Tasks with max_attempts = 1 count as started; if p_start is null, all
-- do except those that follow another task in a sequence. p_line_ids has the line of each task. A single
-- statement updates and returns the rows, so nothing is stored and sorted in between.
-- returns: the claimed tasks, in the order of p_ids
-- locks: the caller holds the tasks, and the keys whose permits they take
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
        -- In the order of the arrays, so that the tasks are updated in that order.
        select given.id, given.slot, own.*
        from unnest(p_ids, p_slots, p_line_ids) as given (id, slot, line_id)
        cross join lateral (select * from setting where setting.line_id = given.line_id offset 0) as own
        offset 0
    ) as picked
    -- With "=", the planner could scan a small table of tasks in the outer loop, and return another order.
    where task.id = any(array[picked.id])
        -- A server crash must not undo a permit or the start of a last attempt: another worker would run
        -- the task at the same time. The first such task makes this commit durable.
        and (
            (task.key is null and (task.attempt + 1 >= task.max_attempts) is not true)
            or rolecall.require_durability()
        )
    returning
        task.id, task.fence, task.attempt, task.max_attempts, picked.role, picked.handler,
        picked.priority::int, task.payload, task.key, task.chain_id, task.chain_index, task.scheduled_for,
        task.created_at, extract(epoch from picked.lease)::float8,
        extract(epoch from coalesce(task.timeout, picked.timeout))::float8,
        coalesce(task.step_number, 0), task.parent_id, task.error, task.key_slot::int,
        extract(epoch from task.expires_at - p_now)::float8, task.fire_time;
end
$$;

-- Picks the next p_limit claimable tasks: by priority, then scheduled_for, then id. Tasks that need a free
-- slot are picked only among the first p_start. If such a task comes next and no slot is free, nothing
-- after it is picked.
-- returns: one row: ids = the picked tasks in claim order, locked; slots = the permit that each takes;
-- line_ids = their lines; held_back = whether the next task waits for a free slot
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- notifies: rolecall_wake, if tasks of a key are left for an idle worker
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
    -- A task that gets a permit may be in another line than the one that was walked.
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

-- Picks up to p_limit tasks from the lines of one priority, some of which need free slots: first up to
-- p_free tasks from all lines, then tasks ahead of their slots from the other lines, unless the next task
-- of all must wait for a slot.
-- returns: one row: picked tasks, locked, with the permit that each takes; keyed = those that take one;
-- held_back = whether the next task waits for a free slot
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- notifies: rolecall_wake, if tasks of a key are left for an idle worker
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
        p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, true, p_claimant.run, 0
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
    -- So that the following walks start at the same watermarks.
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

-- Picks up to p_limit tasks from several lines of one priority, in claim order across the lines. A line
-- that yields less than its share has no more (its tasks wait for keys, or other claims hold them); the
-- rest is distributed again among the other lines.
-- returns: one row: picked tasks, locked, with the permit that each takes; keyed = those that take one
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- notifies: rolecall_wake, if tasks of a key are left for an idle worker
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
            -- If no line has a share, a line may still have tasks below this session's watermark.
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
            -- Only a task that takes a permit can be in another line than the one that was walked.
            v_taken := v_taken || v_got.keyed;
        end loop;
        v_taken := p_taken || ids;
    end loop;
    return next;
end
$$;

-- Picks up to p_limit tasks of one line, except those in p_taken. The walk starts at the watermark, where
-- the last one stopped, so that dead rows of finished tasks that an old snapshot retains cost nothing. It
-- looks below the watermark if it finds nothing else, and from time to time.
-- returns: one row: picked tasks, locked, with the permit that each takes; keyed = those that take one
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- notifies: rolecall_wake, if tasks of a key are left for an idle worker
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

-- Walks a line from a position until enough tasks are picked or the line ends. Permits are given out under
-- the key's lock: the best tasks of each key are picked, and tasks that exceed the key's free capacity are
-- parked.
-- returns: one row: picked tasks with the permit that each takes; keyed = those that take one; reached =
-- the position up to which nothing claimable is left
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- notifies: rolecall_wake, if tasks of a key are left for an idle worker
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
    -- Limits the duration of a claim: parking 5,000 tasks takes about 50 ms.
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
        -- A parent between two steps already has its permit.
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
            if v_won.leaves_some then
                perform rolecall.wake_lines(array[p_line_id]);
            end if;
            exit when v_won.waits;
            -- Further tasks of full keys are parked. Of the other keys, this claim already has all it can
            -- get.
            v_met := v_met || array(select unnest(v_keys) except select unnest(v_full));
            if v_may_park <= 0 then
                v_met := v_met || v_full;
            end if;
        end if;
        if v_whole then
            reached := v_after;
        end if;
        exit when cardinality(ids) >= p_limit or v_seen < v_step;
        -- From here on, the walk skips remaining tasks of the keys that it has seen.
        v_whole := v_whole and v_met = '{}';
        v_step := least(1000, 2 * v_step);
    end loop;
    return next;
end
$$;

-- Decides which of the tasks seen by a walk are picked if some of them have keys (p_keys has the key of
-- each in p_wanting). Picks at most p_limit in claim order, preferring better tasks of the same keys that
-- the walk has not seen; if p_limit is null, picks all that it can, and only seen ones. Parks seen tasks
-- whose key has no free capacity or is in p_full. Reads the keys after locking them, so that no two claims
-- give away one permit twice.
-- returns: one row: picked tasks with the permit that each takes (null: it has no key, or already has its
-- permit); full_keys = the keys without free capacity; parked = how many were parked; whole = whether all
-- seen tasks are picked or parked; waits = whether this claimant needs a free slot for the permits of a key;
-- leaves_some = whether other claimants can take tasks of a key
-- locks: keys rows in key order, then tasks rows, skipping locked rows
create or replace function rolecall.settle_keys(
    p_free bigint[], p_wanting bigint[], p_keys text[], p_full text[], p_claimant rolecall.claim_terms,
    p_limit int, p_now timestamptz
)
returns table (
    ids bigint[], slots smallint[], full_keys text[], parked int, whole boolean, waits boolean,
    leaves_some boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keys text[] := array(select unnest(p_keys) except select unnest(p_full));
    v_locked text[] := rolecall.lock_keys(v_keys);
    -- Separate statements from here on: they see what was committed before the locks were acquired.
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
        -- Looks up each task by its id, regardless of the statistics.
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
        where cardinality(room.free) <= coalesce(won.number, 0) and not room.has_more
    );
    waits := exists (select from unnest(v_rooms) as room where room.has_more and room.free = '{}');
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
    leaves_some := ids <> '{}' and not whole
        and exists (select from unnest(v_rooms) as room where room.has_more);
    return next;
end
$$;

-- Limits the free permits of each key to as many as can be used: one for each seen task with that key
-- (p_wanted has the key of each), or a fair share of p_limit if that is more.
-- returns: one entry per key
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
        )], room.has_more)::rolecall.key_room
        from unnest(p_rooms) as room
        join (
            select key, count(*)::int as number from unnest(p_wanted) as key group by key
        ) as met using (key)
    )
$$;

-- Gives the free permits of keys to the best due tasks that this claimant may take. A task is not picked
-- while another session holds the lock of a better task of its key: the better task goes first.
-- returns: the tasks that get permits, with the permit of each
-- locks: the caller holds the keys; locks the picked tasks, skipping locked rows
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
            -- A hashed subplan: the planner expects few rows and would use a nested-loop join.
            bool_and(placed.id in (select mine.id from mine)) over (
                partition by placed.key order by placed.turn
            ) as is_next
        from placed
    ) as turn
    where turn.is_next;
end
$$;

-- Finds the best due tasks for the free permits of keys that this claimant may take. A task that follows
-- another in a sequence may start late, so it must have the priority of the best task and need no free
-- slot. Tasks with strict keys are never in a sequence. A claim ahead of free slots takes no task past a
-- better one that needs a free slot.
-- returns: one row per task, with the permit that it may take; those of a key in their order
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
        p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, false, p_claimant.run,
        p_claimant.free_slots
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
    -- Computed once per line, not once per task.
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

-- Parks those of the given tasks whose keys have no free capacity (p_wanted has the key of each), so that
-- claims skip them. They are unparked, best first, when a permit of the key is freed.
-- returns: how many were parked
-- locks: the caller holds the keys; tasks rows, skipping locked rows
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
        -- Not a join: the planner assumes arrays of ten and would compare a thousand losers with a thousand
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
