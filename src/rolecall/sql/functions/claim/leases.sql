-- Records that claimed tasks have started. From here on, losing the worker costs the attempt.
-- returns: one row for each lost claim, with the reason; busy if another transaction has locked the row,
-- and the call must be repeated
-- locks: tasks rows, skipping locked rows
-- public: yes
create or replace function rolecall.start(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
    perform rolecall.require_own_worker(p_worker_id);
    update rolecall.tasks as task
    set started_at = rolecall.clock()
    where task.id = any(array(
        select held.id
        from unnest(p_ids, p_fences) as claim (id, fence)
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence
                and (owned.worker_id = p_worker_id) is true
                and owned.started_at is null
            for no key update skip locked
        ) as held
    ));
    return query
    select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences)
    union all
    select claim.id, 'busy'
    from unnest(p_ids, p_fences) as claim (id, fence)
    cross join lateral (
        select owned.started_at
        from rolecall.tasks as owned
        where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
        offset 0
    ) as task
    where task.started_at is null;
end
$$;

-- Renews the leases of a worker's claims, but none beyond its deadline. An expired lease is renewed too if
-- the task has not been taken.
-- returns: one row for each claim to be aborted: lost, or still owned but cancelled or past its deadline
-- (timeout); busy if another transaction has locked the row: its lease is unchanged and must be renewed
-- again
-- locks: tasks rows, skipping locked rows
-- public: yes
create or replace function rolecall.renew(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_renewed bigint[];
begin
    perform rolecall.require_own_worker(p_worker_id);
    with held as materialized (
        select task.id, setting.lease
        from unnest(p_ids, p_fences) as claim (id, fence)
        cross join lateral (
            select owned.id, owned.line_id
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence
                and (owned.worker_id = p_worker_id) is true
                and owned.deadline_at > v_now and owned.cancel_requested_at is null
            for no key update skip locked
        ) as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
    ),
    renewed as (
        update rolecall.tasks as task
        set lease_until = least(v_now + held.lease, task.deadline_at)
        from held
        where task.id = held.id
        returning task.id
    )
    select coalesce(array_agg(renewed.id), '{}') into v_renewed from renewed;
    return query
    select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences)
    union all
    select task.id, case
        when task.cancel_requested_at is not null then 'cancelled'
        when task.deadline_at <= v_now then 'timeout'
        else 'busy'
    end
    from unnest(p_ids, p_fences) as claim (id, fence)
    cross join lateral (
        select owned.id, owned.cancel_requested_at, owned.deadline_at
        from rolecall.tasks as owned
        where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
            and owned.id <> all(v_renewed)
        offset 0
    ) as task;
end
$$;
