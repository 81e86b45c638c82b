-- Takes pending tasks for a worker: each gets a lease (not beyond its deadline), a deadline, the next fence
-- and the next attempt. The first p_start of them (null: all) go into free slots and count as started, the
-- others are prefetched; a task of one attempt, and one whose workers died three times before it began, is
-- claimed into a free slot only. What has a key, or begins its last attempt, is so for good when this
-- commits, whatever the session's synchronous_commit says.
-- returns: the claimed tasks in claim order
-- raises: RC050 wrong isolation level
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- public: yes
create or replace function rolecall.claim(
    p_worker_id bigint, p_roles text[], p_handlers text[], p_limit int, p_start int default null
)
returns table (
    id bigint, fence int, attempt int, max_attempts int, role text, handler text, priority int, payload jsonb,
    key text, chain_id bigint, chain_index int, scheduled_for timestamptz, created_at timestamptz,
    lease_seconds float8, timeout_seconds float8, step int, parent_id bigint, last_error text
)
language plpgsql
volatile
set search_path = ''
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
    select * into v_picked from rolecall.choose_tasks(
        (p_worker_id, p_roles, p_handlers, false)::rolecall.claimant, p_limit, coalesce(p_start, p_limit),
        v_now
    );
    -- For whoever has slots free only later: there may be more than this answer shows.
    perform set_config('rolecall.held_back', v_picked.held_back::text, true);
    if cardinality(v_picked.ids) = 0 then
        return;
    end if;
    return query
    with claimed as (
        update rolecall.tasks as task
        set state = 'running', parked = false, worker_id = p_worker_id, fence = task.fence + 1,
            attempt = task.attempt + 1, claimed_at = v_now,
            lease_until = v_now + least(setting.lease, coalesce(task.timeout, setting.timeout)),
            deadline_at = v_now + coalesce(task.timeout, setting.timeout),
            started_at = case
                when p_start is null or picked.n <= p_start or setting.never_ahead then v_now
            end,
            key_slot = coalesce(task.key_slot, picked.slot)
        from unnest(v_picked.ids, v_picked.slots) with ordinality as picked (id, slot, n),
            rolecall.line_settings as setting
        where task.id = picked.id and setting.line_id = task.line_id
        returning task.*, setting.role, setting.handler, setting.priority, setting.lease,
            coalesce(task.timeout, setting.timeout) as bound
    ),
    durable as materialized (
        -- A crash of the server must not undo who holds a key, or that a last attempt began: somebody else
        -- would begin beside it.
        select rolecall.require_durability() from claimed
        where claimed.key is not null or claimed.attempt >= claimed.max_attempts
        limit 1
    )
    select
        claimed.id, claimed.fence, claimed.attempt, claimed.max_attempts, claimed.role, claimed.handler,
        claimed.priority::int, claimed.payload, claimed.key, claimed.chain_id, claimed.chain_index,
        claimed.scheduled_for, claimed.created_at,
        extract(epoch from claimed.lease)::float8, extract(epoch from claimed.bound)::float8,
        coalesce(claimed.step_number, claimed.step, 0), claimed.parent_id, claimed.error
    from claimed
    left join durable on true
    order by claimed.priority desc, claimed.scheduled_for, claimed.id;
end
$$;

-- Picks the next p_limit claimable tasks for somebody: priority first, then scheduled_for, then id. What may
-- only be claimed into a free slot is among the first p_start; where it comes next, nothing after it is
-- picked either.
-- returns: one row: picked tasks in claim order, locked, with the slot of its key that each wins; held_back =
-- the next one waits for a free slot
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.choose_tasks(
    p_claimant rolecall.claimant, p_limit int, p_start int, p_now timestamptz
)
returns table (ids bigint[], slots smallint[], held_back boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_keyed bigint[] := '{}';
    v_level record;
    v_got record;
    v_in_order boolean := true;
begin
    ids := '{}';
    slots := '{}';
    held_back := false;
    for v_level in
        select array_agg(line.line_id) as lines, bool_or(line.never_ahead) as some_never_ahead
        from rolecall.lines_of_claim(rolecall.open_lines(), p_claimant, p_now) as line
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
    if cardinality(ids) > 1 and (cardinality(v_keyed) > 0 or not v_in_order) then
        select array_agg(picked.id order by line.priority desc, task.scheduled_for, picked.id),
            array_agg(picked.slot order by line.priority desc, task.scheduled_for, picked.id)
        into ids, slots
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
    p_level int[], p_claimant rolecall.claimant, p_limit int, p_free int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[], held_back boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_ahead rolecall.claimant := (p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, true);
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
