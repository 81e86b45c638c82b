-- Unparks tasks of keys that have free capacity: the best of each role and handler, up to the free
-- capacity. Keys are shared by all roles, and tasks that no worker can run must not block the others.
-- returns: the unparked tasks
-- locks: keys rows in key order, waiting; then the parked tasks in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.unpark_heads(p_keys text[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_wanted text[];
    v_heads bigint[];
    v_lines int[];
begin
    if p_keys is null then
        return '{}';
    end if;
    perform from rolecall.keys where key = any(p_keys) order by key for update;
    -- Separate statements: they see what was parked before the locks were acquired.
    v_wanted := array(
        -- A key whose permits two tasks gave up at once occurs twice, but counts once.
        select distinct wanted.key from unnest(p_keys) as wanted (key)
        where exists (
            select from rolecall.tasks as task where task.key = wanted.key and task.state = 'pending' offset 0
        )
    );
    if v_wanted = '{}' then
        return '{}';
    end if;
    select array_agg(head.id order by head.id), array_agg(head.line_id) into v_heads, v_lines
    from rolecall.parked_heads(v_wanted) as head;
    if v_heads is null then
        return '{}';
    end if;
    update rolecall.tasks set parked = false where id = any(v_heads) and state = 'pending';
    perform rolecall.wake_lines(v_lines);
    return v_heads;
end
$$;

-- Finds the parked tasks to unpark for keys: the best of each role and handler, up to the free capacity.
-- returns: one row per task
create or replace function rolecall.parked_heads(p_keys text[])
returns table (key text, id bigint, line_id int)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keys text[];
    v_rooms int[];
begin
    select array_agg(room.key), array_agg(cardinality(room.free)) into v_keys, v_rooms
    from rolecall.room_of_keys(p_keys) as room
    where room.free <> '{}';
    return query
    select head.key, head.id, head.line_id
    from rolecall.heads_by_handler(v_keys, v_rooms, rolecall.clock()) as head
    where head.parked;
end
$$;

-- Finds the first tasks of keys, for each role and handler separately, up to the free capacity: a worker can
-- take these even if the others can only be run elsewhere.
-- returns: one row per task
create or replace function rolecall.heads_by_handler(p_keys text[], p_rooms int[], p_now timestamptz)
returns table (key text, id bigint, line_id int, parked boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    with head as materialized (
        select * from rolecall.heads_of_keys(p_keys, p_rooms, p_now)
    ),
    ranked as (
        select head.key, head.id, head.parked, head.line_id, row_number() over (
            partition by head.key, line.role, line.handler, line.misfit_for order by line.priority desc,
            head.scheduled_for, head.id
        ) as turn
        from head
        join (
            select line.id as line_id, line.role, line.handler, line.misfit_for, line.priority
            from rolecall.lines as line
            where line.id = any(array(select distinct head.line_id from head))
        ) as line using (line_id)
    )
    select ranked.key, ranked.id, ranked.line_id, ranked.parked
    from ranked
    join unnest(p_keys, p_rooms) as room (key, number) using (key)
    where ranked.turn <= room.number;
end
$$;

-- Finds the first tasks of keys in each line, up to the free capacity: due ones, parked or not, that have
-- not expired. Steps from line to line of the key, so that lines without tasks of the key cost nothing.
-- returns: one row per task
create or replace function rolecall.heads_of_keys(p_keys text[], p_rooms int[], p_now timestamptz)
returns table (key text, id bigint, line_id int, scheduled_for timestamptz, parked boolean)
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    with recursive step as (
        select wanted.key, wanted.room, line.line_id
        from unnest(p_keys, p_rooms) as wanted (key, room)
        cross join lateral (
            select task.line_id from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending'
            order by task.line_id
            limit 1
        ) as line
        union all
        select step.key, step.room, line.line_id
        from step
        cross join lateral (
            select task.line_id from rolecall.tasks as task
            where task.key = step.key and task.state = 'pending' and task.line_id > step.line_id
            order by task.line_id
            limit 1
        ) as line
    )
    select step.key, head.id, step.line_id, head.scheduled_for, head.parked
    from step
    cross join lateral (
        select task.id, task.scheduled_for, task.parked
        from rolecall.tasks as task
        where task.key = step.key and task.line_id = step.line_id and task.state = 'pending'
            and task.key_slot is null and task.scheduled_for <= p_now
            and (task.expires_at <= p_now) is not true
        order by task.scheduled_for, task.id
        limit step.room
    ) as head
$$;

-- Returns the free capacity of keys for a claimant: free permits, and places for tasks that follow others in
-- a sequence, with the number of the permit negated. Tasks can follow one under a free permit, or one that
-- the claimant claimed within the last 0.4 s: behind older ones they would wait longer than a worker allows.
-- No task follows one with strict keys. If permits are left for other claimants, so is their share of the
-- tasks.
-- returns: one entry per key, its places in the order in which they are filled
create or replace function rolecall.room_for(
    p_keys text[], p_claimant rolecall.claim_terms, p_now timestamptz
)
returns rolecall.key_room[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_claimant.run <= 1 then
        return array(select room from rolecall.room_of_keys(p_keys) as room);
    end if;
    return array(
        select (
            room.key, room.capacity,
            case
                when others.permits = 0 then places.slots
                else places.slots[1:rolecall.share_of_key(
                    room.key, cardinality(usable.permits), others.permits, p_claimant
                )]
            end,
            others.permits > 0
        )::rolecall.key_room
        from rolecall.room_of_keys(p_keys) as room
        cross join lateral (
            select case
                when room.capacity = 1 then room.free
                else rolecall.usable_permits(room.key, room.free, p_claimant)
            end as permits
        ) as usable
        cross join lateral (select cardinality(room.free) - cardinality(usable.permits) as permits) as others
        -- In the order in which they are filled. Not a function of its own: it is computed for each key.
        cross join lateral (
            select array(
                select place.slot
                from (
                    select slot::smallint, 1 as turn from unnest(usable.permits) as slot
                    union all
                    select -slot, turn
                    from unnest(usable.permits) as slot
                    cross join generate_series(2, p_claimant.run) as turn
                    union all
                    select -own.slot, turn
                    from (
                        select abs(holder.key_slot) as slot, count(*)::int as number
                        from rolecall.tasks as holder
                        where holder.key = room.key and holder.key_slot is not null
                        group by abs(holder.key_slot)
                        having bool_and(
                            holder.worker_id = p_claimant.worker_id and holder.state = 'running'
                            and holder.claimed_at > p_now - interval '0.4 s'
                        ) and (
                            -- A permit with several tasks does not belong to a task with strict keys.
                            count(*) > 1 or not (
                                select setting.strict_keys
                                from rolecall.line_settings as setting
                                where setting.line_id = min(holder.line_id)
                            )
                        )
                    ) as own
                    cross join generate_series(own.number + 1, p_claimant.run) as turn
                ) as place (slot, turn)
                order by place.turn, abs(place.slot)
            ) as slots
        ) as places
    );
end
$$;

-- Returns the free permits of a key that a claimant of sequences may take: one for each of its free slots. A
-- claim ahead of them takes only a first one. A permit beyond its slots would wait there, although another
-- worker could use it.
-- returns: the first of p_free
create or replace function rolecall.usable_permits(
    p_key text, p_free smallint[], p_claimant rolecall.claim_terms
)
returns smallint[]
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_claimant.free_slots > 0 then
        return p_free[1:p_claimant.free_slots];
    elsif p_claimant.free_slots = 0 and exists (
        select from rolecall.tasks as held
        where held.key = p_key and held.key_slot is not null and held.worker_id = p_claimant.worker_id
    ) then
        return '{}';
    elsif p_claimant.free_slots = 0 then
        return p_free[1:1];
    end if;
    return p_free;
end
$$;

-- Returns how many more tasks of a key a claimant may take if other claimants can get p_left of its permits.
-- It may hold the share of the tasks that corresponds to its permits, p_new of which it is about to take.
-- Counts as many tasks as all sequences can hold, but at most 2,000.
-- returns: at least p_new
create or replace function rolecall.share_of_key(
    p_key text, p_new int, p_left int, p_claimant rolecall.claim_terms
)
returns int
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with held as (
        select count(*) as tasks, count(distinct abs(task.key_slot)) + p_new as permits
        from rolecall.tasks as task
        where task.key = p_key and task.key_slot is not null and task.worker_id = p_claimant.worker_id
    )
    select greatest(
        p_new,
        ceil((held.tasks + waiting.tasks) * held.permits::float8 / (held.permits + p_left)) - held.tasks
    )::int
    from held
    cross join lateral (
        select count(*) as tasks
        from (
            select from rolecall.tasks as task
            where task.key = p_key and task.state = 'pending'
            limit least((held.permits + p_left) * p_claimant.run, 2000)
        ) as counted
    ) as waiting
$$;

-- Returns the free permits of keys. The capacity of a key is the one that was set for the key itself,
-- otherwise that of the longest matching pattern, otherwise 1. Holders of permits beyond a reduced capacity
-- count too.
-- returns: one row per key
create or replace function rolecall.room_of_keys(p_keys text[])
returns setof rolecall.key_room
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select wanted.key, room.capacity, case
        when cardinality(holder.slots) >= room.capacity then '{}'
        when room.capacity = 1 then '{1}'
        else array(
            select slot::smallint from generate_series(1, room.capacity) as slot
            where slot <> all(holder.slots)
            order by slot
            limit room.capacity - cardinality(holder.slots)
        )
    end, false
    from unnest(p_keys) as wanted (key)
    left join rolecall.keys as lock using (key)
    cross join lateral (
        select coalesce(
            lock.capacity, lock.declared,
            -- Most databases have no patterns: checked once per query, not once per key.
            case when exists (select from rolecall.key_patterns) then (
                select pattern.capacity from rolecall.pattern_of_key(wanted.key) as pattern
            ) end,
            1
        )::int as capacity
    ) as room
    cross join lateral (
        select array(
            select distinct abs(task.key_slot)
            from rolecall.tasks as task
            where task.key = wanted.key and task.key_slot is not null
        ) as slots
    ) as holder
$$;

-- Finds the longest pattern that matches a key, and its capacity. Patterns never match the key 'role:' plus
-- name, which limits a role to one root: raising the capacity of all keys is not meant to change that.
-- returns: one row, or none
-- search_path: not set, so that it is inlined into queries about many keys
create or replace function rolecall.pattern_of_key(p_key text)
returns table (prefix text, capacity smallint)
language sql
stable
as $$
    select pattern.prefix, coalesce(pattern.capacity, pattern.declared)
    from rolecall.key_patterns as pattern
    where pg_catalog.starts_with(p_key, pattern.prefix)
        and not (pg_catalog.starts_with(p_key, 'role:') and exists (
        select from rolecall.roles as role where role.name = pg_catalog.substr(p_key, 6) and role.one_root
    ))
    order by pg_catalog.length(pattern.prefix) desc
    limit 1
$$;

-- Locks keys for a claim, which never waits: keys that another session has locked, or whose row it is just
-- creating, are skipped.
-- returns: the locked keys
-- locks: keys rows in key order, skipping locked and uncommitted ones
create or replace function rolecall.lock_keys(p_keys text[])
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- A row that no other session can see yet needs no further lock.
    v_born text[];
begin
    with missing as materialized (
        select wanted.key from unnest(p_keys) as wanted (key)
        where not exists (select from rolecall.keys as known where known.key = wanted.key)
    ),
    -- Two sessions that insert the same key wait for each other, so the insert happens only after a lock
    -- that is not waited for. A thousand latches bound the number of locks; a collision delays one claim.
    latched as materialized (
        select latch.number from rolecall.latches as latch
        where latch.kind = 'keys'
            and latch.number = any(array(select hashtext(missing.key) & 1023 from missing))
        for update skip locked
    ),
    born as (
        insert into rolecall.keys (key)
        select missing.key from missing
        -- `is true` makes it a hashed subplan; the planner expects one row and would use a nested-loop
        -- join.
        where (hashtext(missing.key) & 1023 in (select latched.number from latched)) is true
        order by missing.key
        on conflict do nothing
        returning key
    )
    select coalesce(array_agg(born.key), '{}') into v_born from born;
    return v_born || array(
        select held.key from rolecall.keys as held
        where held.key = any(array(select unnest(p_keys) except select unnest(v_born)))
        order by held.key
        for update skip locked
    );
end
$$;
