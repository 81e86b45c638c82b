-- Returns a worker's claims, for example at shutdown: the tasks are pending again immediately and their
-- attempts are not spent. Does not wait for other open transactions: claims that one of them blocks are
-- reported as busy and must be sent again, and the others are returned.
-- returns: one row for each claim that was not returned: busy, or why it was lost
-- raises: RC050 wrong isolation level
-- locks: tasks rows in id order; keys rows in key order; waits at most 0.1 s for each lock, and at most 0.5
-- s in total
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.release(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_own_worker(p_worker_id);
    perform rolecall.require_durability();
    return query
    select released.task_id, released.reason
    from rolecall.release_claims(p_worker_id, (
        select jsonb_agg(jsonb_build_object('id', claim.id, 'fence', claim.fence))
        from unnest(p_ids, p_fences) as claim (id, fence)
    )) as released;
end
$$;

-- Returns claims without waiting for other open transactions. Claims that one of them blocks are reported
-- as busy.
-- returns: one row for each claim that was not returned: busy, or why it was lost
-- locks: tasks rows in id order; keys rows in key order; waits at most 0.1 s for each lock, and at most 0.5
-- s in total
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.release_claims(p_worker_id bigint, p_claims jsonb)
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_release(p_worker_id, p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        -- Another transaction holds something that one of them needs: now try them separately.
        null;
    end;
    return query
    select apart.task_id, apart.reason
    from rolecall.release_apart(
        p_worker_id, rolecall.children_together(p_claims), clock_timestamp() + interval '400 ms'
    ) as apart;
end
$$;

-- Returns the claims that can be returned without waiting: all of them together, or each half separately,
-- until the blocked ones are found.
-- returns: one row for each claim that was not returned: busy, or why it was lost
-- locks: as try_to_release, waiting only briefly
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.release_apart(p_worker_id bigint, p_claims jsonb, p_until timestamptz)
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '10ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_release(p_worker_id, p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_claims) = 1 or clock_timestamp() > p_until then
        return query select (claim -> 'id')::bigint, 'busy' from jsonb_array_elements(p_claims) as claim;
    else
        return query
        select apart.task_id, apart.reason
        from rolecall.halves(p_claims) as half
        cross join lateral rolecall.release_apart(p_worker_id, half, p_until) as apart;
    end if;
end
$$;

-- Returns claims as release does, unless a lock wait timed out or a related task appeared in the meantime.
-- returns: one row per lost claim, with the reason
-- raises: 55P03, RC090 roll back and try again
-- locks: tasks rows in id order; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.try_to_release(p_worker_id bigint, p_claims jsonb)
returns table (task_id bigint, reason text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_losses jsonb;
    v_returned record;
begin
    return query
    select lost.task_id, lost.reason
    from (
        select array_agg(claim.id) as ids, array_agg(claim.fence) as fences
        from jsonb_to_recordset(p_claims) as claim (id bigint, fence int)
    ) as given
    cross join lateral rolecall.lost_claims(p_worker_id, given.ids, given.fences) as lost;
    with owned as (
        select task.id, task.started_at
        from (
            select * from jsonb_to_recordset(p_claims) as given (id bigint, fence int) order by given.id
        ) as claim
        cross join lateral (
            select owned.id, owned.started_at
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence
                and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select jsonb_agg(
        jsonb_build_object(
            'id', id, 'reason', case when started_at is null then 'returned' else 'shutdown' end
        )
    )
    into v_losses
    from owned;
    select * into v_returned from rolecall.return_tasks(v_losses);
    perform rolecall.conclude(v_returned.endings, v_returned.keys);
end
$$;
