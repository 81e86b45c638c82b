-- Claims the named tasks for a worker, as claim does: those of its registered roles and handlers that are
-- due and not paused. A permit goes only to the best task of its key. p_start is the same as for claim; the
-- first tasks named get the free slots. Never waits for locks.
-- returns: the claimed tasks in the order named, without a verdict; then one row for each other task, with
-- its id and the verdict: taken, finished, unknown, blocked (it has open needs), waiting (for its
-- children), not served (it has another role or handler, or the worker is not registered), misfit
-- (incompatible with this worker's release), paused, not due, no free slot (it can only be claimed into a
-- free slot, and is not among the first p_start named), key busy (its key has no free permit), not first
-- (another task of its key is better), busy (its row or key is locked: try again), expired (it can no
-- longer start)
-- raises: RC050 wrong isolation level
-- locks: tasks rows, then keys rows in key order, skipping locked rows
-- public: yes
create or replace function rolecall.claim_these(p_worker_id bigint, p_ids bigint[], p_start int default null)
returns table (id bigint, verdict text, task rolecall.claimed_task)
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
    v_ids bigint[] := array(
        select given.id from unnest(p_ids) with ordinality as given (id, n)
        where given.id is not null
        group by given.id
        order by min(given.n)
    );
    v_claimant rolecall.claim_terms;
    v_picked record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_own_worker(p_worker_id);
    select worker.id, worker.roles, worker.handlers, false, 1, null into v_claimant
    from rolecall.workers as worker
    where worker.id = p_worker_id;
    select * into v_picked from rolecall.pick_these(v_claimant, v_ids, p_start, v_now);
    return query
    select taken.id, null, taken
    from rolecall.give_tasks(
        p_worker_id, v_picked.ids, v_picked.slots, v_picked.line_ids, p_start, v_now
    ) as taken;
    if cardinality(v_picked.ids) < cardinality(v_ids) then
        return query
        select refused.id, refused.verdict, null::rolecall.claimed_task
        from rolecall.why_not_claimed(v_claimant, v_ids, v_picked.ids, p_start, v_now) as refused;
    end if;
end
$$;

-- Picks those of the named tasks that the claimant may take now. A key's permit goes to the best task of
-- the key if that is one of them. The other tasks of a key that is full afterwards are parked.
-- returns: one row: picked tasks in the order named, locked, with the permit that each takes and its line
-- locks: tasks rows, then keys rows in key order, skipping locked rows
create or replace function rolecall.pick_these(
    p_claimant rolecall.claim_terms, p_ids bigint[], p_start int, p_now timestamptz
)
returns table (ids bigint[], slots smallint[], line_ids int[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_lines int[];
    v_never_ahead boolean[];
    v_named bigint[];
    v_free bigint[];
    v_wanting bigint[];
    v_keys text[];
    v_lines_of_named int[];
begin
    select array_agg(line.line_id), array_agg(line.never_ahead) into v_lines, v_never_ahead
    from rolecall.lines_of_claim(rolecall.lines_of_tasks(p_ids), p_claimant, p_now) as line;
    -- A parent between two steps already has its permit.
    select coalesce(array_agg(seen.id), '{}'),
        coalesce(array_agg(seen.id) filter (where seen.key is null or seen.key_slot is not null), '{}'),
        array_agg(seen.id) filter (where seen.key is not null and seen.key_slot is null),
        array_agg(seen.key) filter (where seen.key is not null and seen.key_slot is null),
        coalesce(array_agg(seen.line_id), '{}')
    into v_named, v_free, v_wanting, v_keys, v_lines_of_named
    from unnest(p_ids) with ordinality as named (id, n)
    -- Looks up each task by its id, regardless of the statistics.
    cross join lateral (
        select task.id, task.key, task.key_slot, task.line_id
        from rolecall.tasks as task
        where task.id = named.id and task.state = 'pending' and task.scheduled_for <= p_now
            and (task.expires_at <= p_now) is not true and task.line_id = any(v_lines)
            and not (named.n > p_start and v_never_ahead[array_position(v_lines, task.line_id)]) is true
        for update skip locked
    ) as seen;
    if v_keys is null then
        ids := v_named;
        slots := array_fill(null::smallint, array[cardinality(ids)]);
        line_ids := v_lines_of_named;
    else
        select array_agg(picked.id order by array_position(p_ids, picked.id)),
            array_agg(picked.slot order by array_position(p_ids, picked.id)),
            array_agg(
                v_lines_of_named[array_position(v_named, picked.id)] order by array_position(p_ids, picked.id)
            )
        into ids, slots, line_ids
        from rolecall.settle_keys(
            v_free, v_wanting, v_keys, '{}', p_claimant, null, p_now
        ) as settled
        cross join lateral unnest(settled.ids, settled.slots) as picked (id, slot);
        ids := coalesce(ids, '{}');
    end if;
    return next;
end
$$;

-- Finds the lines of open tasks.
-- returns: the ids of the lines, without duplicates
create or replace function rolecall.lines_of_tasks(p_ids bigint[])
returns int[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select distinct task.line_id
        from unnest(p_ids) as named (id)
        cross join lateral (
            select one.line_id from rolecall.tasks as one where one.id = named.id offset 0
        ) as task
    );
end
$$;

-- Explains why the claimant did not get those of the named tasks that were not picked.
-- returns: one row per task, in the order named, with a verdict of claim_these
create or replace function rolecall.why_not_claimed(
    p_claimant rolecall.claim_terms, p_ids bigint[], p_got bigint[], p_start int, p_now timestamptz
)
returns table (id bigint, verdict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_mine int[] := array(
        select line.line_id
        from rolecall.lines_of_claim(rolecall.lines_of_tasks(p_ids), p_claimant, p_now) as line
    );
    v_rooms rolecall.key_room[] := rolecall.rooms_for_tasks(p_ids);
    v_first bigint[] := array(
        select best.id from rolecall.best_of_keys(v_rooms, p_claimant, p_now) as best
    );
begin
    return query
    with open as materialized (
        select named.id, named.n, task.state, task.line_id, task.scheduled_for, task.key, task.key_slot,
            rolecall.has_expired(task.state, task.expires_at, p_now) as expired
        from unnest(p_ids) with ordinality as named (id, n)
        left join lateral (
            select one.state, one.line_id, one.scheduled_for, one.key, one.key_slot, one.expires_at
            from rolecall.tasks as one
            where one.id = named.id offset 0
        ) as task on true
        where named.id <> all(p_got)
    )
    select open.id, case
        when open.state is null then case
            when open.id in (
                select gone.id
                from rolecall.find_finished(array(select open.id from open where open.state is null)) as gone
            ) then 'finished'
            else 'unknown'
        end
        when open.state = 'running' then 'taken'
        when open.expired then 'expired'
        when open.state <> 'pending' then open.state::text
        when ((p_claimant.roles = '{}' or setting.role = any(p_claimant.roles))
            and setting.handler = any(p_claimant.handlers)) is not true then 'not served'
        when setting.paused and (setting.paused_until <= p_now) is not true then 'paused'
        when open.line_id <> all(v_mine) then 'misfit'
        when open.scheduled_for > p_now then 'not due'
        when setting.never_ahead and open.n > p_start then 'no free slot'
        when open.key is null or open.key_slot is not null then 'busy'
        when room.free = '{}' then 'key busy'
        when open.id <> all(v_first) then 'not first'
        else 'busy'
    end
    from open
    left join rolecall.line_settings as setting using (line_id)
    left join unnest(v_rooms) as room (key, capacity, free) using (key)
    order by open.n;
end
$$;

-- Returns the free capacity of the keys of open tasks.
-- returns: one entry per key
create or replace function rolecall.rooms_for_tasks(p_ids bigint[])
returns rolecall.key_room[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keys text[] := array(
        select distinct task.key
        from unnest(p_ids) as named (id)
        cross join lateral (
            select one.key from rolecall.tasks as one where one.id = named.id offset 0
        ) as task
        where task.key is not null
    );
begin
    return case when v_keys = '{}' then '{}' else array(
        select room from rolecall.room_of_keys(v_keys) as room
    ) end;
end
$$;
