-- Takes pending tasks for a worker: each gets a lease (not beyond its deadline), a deadline, the next fence and the next attempt.
-- The first p_start of them (null: all) go into free slots and count as started, the others are prefetched; a task of one attempt, and
-- one whose workers died three times before it began, is claimed into a free slot only. What has a key, or begins its last attempt, is
-- so for good when this commits, whatever the session's synchronous_commit says.
-- returns: the claimed tasks in claim order
-- raises: RC050 wrong isolation level
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.claim(
    p_worker_id bigint, p_roles text[], p_handlers text[], p_limit int, p_start int default null
)
returns table (
    id bigint, fence int, attempt int, max_attempts int, role text, handler text, priority int, payload jsonb, key text,
    chain_id bigint, chain_index int, scheduled_for timestamptz, created_at timestamptz,
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
        (p_worker_id, p_roles, p_handlers, false)::rolecall.claimant, p_limit, coalesce(p_start, p_limit), v_now
    );
    -- For whoever has slots free only later: there may be more than this answer shows.
    perform set_config('rolecall.held_back', v_picked.held_back::text, true);
    if cardinality(v_picked.ids) = 0 then
        return;
    end if;
    return query
    with claimed as (
        update rolecall.tasks as task
        set state = 'running', parked = false, worker_id = p_worker_id, fence = task.fence + 1, attempt = task.attempt + 1,
            claimed_at = v_now, lease_until = v_now + least(setting.lease, coalesce(task.timeout, setting.timeout)),
            deadline_at = v_now + coalesce(task.timeout, setting.timeout),
            started_at = case when p_start is null or picked.n <= p_start or setting.never_ahead then v_now end,
            key_slot = coalesce(task.key_slot, picked.slot)
        from unnest(v_picked.ids, v_picked.slots) with ordinality as picked (id, slot, n), rolecall.line_settings as setting
        where task.id = picked.id and setting.line_id = task.line_id
        returning task.*, setting.role, setting.handler, setting.priority, setting.lease,
            coalesce(task.timeout, setting.timeout) as bound
    ),
    durable as materialized (
        -- A crash of the server must not undo who holds a key, or that a last attempt began: somebody else would begin beside it.
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
