-- Lists the tasks to dispatch to workers: due tasks that can be claimed and are not paused; of a key's
-- tasks the best of each role and handler, up to the key's free capacity. Lists at most p_limit tasks of
-- each role (no roles: of all), best first; with p_high, at most that many with this priority or a higher
-- one, and as many with a lower one. Null handlers mean all handlers. Claims nothing and never waits for
-- locks; tasks of full keys are parked, as by a claim.
-- returns: one row per task, best first; attempt = the attempt that a claim would begin
-- raises: RC050 wrong isolation level
-- locks: keys rows in key order, then tasks rows that are parked, skipping locked rows
-- public: yes
create or replace function rolecall.offers(
    p_roles text[], p_handlers text[], p_limit int, p_high int default null
)
returns table (
    id bigint, role text, handler text, priority int, high boolean, attempt int, key text,
    scheduled_for timestamptz
)
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
    v_claimant rolecall.claim_terms := (
        null, p_roles, coalesce(p_handlers, array(select distinct line.handler from rolecall.lines as line)),
        false, 1, null
    );
begin
    perform rolecall.require_read_committed();
    return query
    with offered as materialized (
        select task.id, setting.role, setting.handler, setting.priority,
            coalesce(setting.priority >= p_high, false) as high, task.attempt + 1 as attempt, task.key,
            task.scheduled_for
        from rolecall.open_lines_of(v_claimant, v_now) as line
        join rolecall.line_settings as setting using (line_id)
        cross join lateral unnest(rolecall.offers_of_line(line.line_id, p_limit, v_now)) as best (id)
        cross join lateral (
            select one.id, one.attempt, one.key, one.scheduled_for
            from rolecall.tasks as one
            where one.id = best.id offset 0
        ) as task
    ),
    ranked as (
        select offered.*, row_number() over (
            partition by offered.role, offered.high
            order by offered.priority desc, offered.scheduled_for, offered.id
        ) as turn
        from offered
    )
    select ranked.id, ranked.role, ranked.handler, ranked.priority::int, ranked.high, ranked.attempt,
        ranked.key, ranked.scheduled_for
    from ranked
    where ranked.turn <= p_limit
    order by ranked.priority desc, ranked.scheduled_for, ranked.id;
end
$$;

-- Finds the first p_limit claimable tasks of a line, and parks the tasks of full keys that it meets.
-- returns: their ids, in claim order
-- locks: keys rows in key order, then tasks rows that are parked, skipping locked rows
create or replace function rolecall.offers_of_line(p_line_id int, p_limit int, p_now timestamptz)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_after rolecall.floor := rolecall.line_floor(p_line_id);
    v_step int := p_limit;
    v_ids bigint[] := '{}';
    -- Limits the duration of a call.
    v_may_park int := 5000;
    v_met text[] := '{}';
    v_full text[] := '{}';
    v_heads bigint[] := '{}';
    v_seen record;
begin
    -- This session's watermark applies while looking below it is expensive.
    if (v_after.look_below_at > clock_timestamp() + interval '1 s') is not true then
        v_after := rolecall.look_below(p_line_id, p_now);
    end if;
    loop
        select count(*) as number, array_agg(task.id) as ids, array_agg(task.key) as keys,
            array_agg(distinct task.key) filter (where task.key <> all(v_met)) as new,
            (array_agg(task.scheduled_for))[count(*)] as scheduled_for, (array_agg(task.id))[count(*)] as id
        into v_seen
        from (
            select one.id, one.scheduled_for, case when one.key_slot is null then one.key end as key
            from rolecall.tasks as one
            where one.line_id = p_line_id and one.state = 'pending' and not one.parked
                and (one.scheduled_for, one.id) > (v_after.scheduled_for, v_after.id)
                and one.scheduled_for <= p_now and (one.expires_at <= p_now) is not true
                and (one.key is null or one.key_slot is not null or one.key <> all(v_met)
                    or one.key = any(v_full) or one.id = any(v_heads))
            order by one.scheduled_for, one.id
            limit v_step
        ) as task;
        exit when v_seen.number = 0;
        if v_seen.new is not null then
            v_met := v_met || v_seen.new;
            v_full := v_full || rolecall.keys_without_room(v_seen.new);
            select v_heads || array_agg(head.id), v_ids || array_agg(head.id) filter (where head.parked)
            into v_heads, v_ids
            from rolecall.heads_with_room(v_seen.new, p_now) as head
            where head.line_id = p_line_id;
        end if;
        if v_full <> '{}' then
            v_may_park := v_may_park - rolecall.park_losers(v_seen.ids, v_seen.keys, v_full, '{}');
            if v_may_park <= 0 then
                v_full := '{}';
            end if;
        end if;
        v_ids := v_ids || array(
            select seen.id
            from unnest(v_seen.ids, v_seen.keys) with ordinality as seen (id, key, n)
            where seen.key is null or seen.id = any(v_heads)
            order by seen.n
        );
        exit when cardinality(v_ids) >= p_limit or v_seen.number < v_step;
        v_after.scheduled_for := v_seen.scheduled_for;
        v_after.id := v_seen.id;
        v_step := least(1000, 2 * v_step);
    end loop;
    return v_ids[1:p_limit];
end
$$;

-- Finds those of the given keys that have no free capacity.
-- returns: these keys
-- locks: keys rows in key order, skipping locked rows, whose keys are left out
create or replace function rolecall.keys_without_room(p_keys text[])
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_full text[] := array(
        select room.key from rolecall.room_of_keys(p_keys) as room where room.free = '{}'
    );
begin
    if v_full <> '{}' then
        v_full := rolecall.lock_keys(v_full);
    end if;
    -- A separate statement: it sees permits that were freed before the locks were acquired.
    return array(select room.key from rolecall.room_of_keys(v_full) as room where room.free = '{}');
end
$$;

-- Finds the tasks to dispatch of keys with free capacity.
-- returns: the best tasks of each role and handler, up to the free capacity; includes parked tasks, which a
-- walk of their line skips
create or replace function rolecall.heads_with_room(p_keys text[], p_now timestamptz)
returns table (id bigint, line_id int, parked boolean)
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
    select head.id, head.line_id, head.parked from rolecall.heads_by_handler(v_keys, v_rooms, p_now) as head;
end
$$;
