-- Ends tasks that have expired, as cancelled: pending and blocked ones whose moment to begin by has passed.
-- What somebody's open transaction keeps from it is left to the next call.
-- returns: one row a task that ended, with the state it went to
-- raises: RC050 wrong isolation level
-- locks: tasks rows, skipping locked ones; keys rows in key order
-- notifies: as conclude
-- public: yes
create or replace function rolecall.expire(p_limit int default 1000)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_now constant timestamptz := rolecall.clock();
    v_held bigint[];
begin
    perform rolecall.require_read_committed();
    v_held := array(
        select task.id
        from rolecall.tasks as task
        where task.state in ('blocked', 'pending') and task.expires_at <= v_now
        order by task.expires_at
        limit p_limit
        for update skip locked
    );
    if v_held <> '{}' then
        return query select * from rolecall.rescue_claims(rolecall.expired_among(v_held));
    end if;
end
$$;

-- Finds those among some tasks that have expired.
-- returns: one document a task, as return_tasks takes it; null where there is none
create or replace function rolecall.expired_among(p_ids bigint[])
returns jsonb
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
begin
    return (
        select jsonb_agg(jsonb_build_object(
            'id', task.id, 'reason', 'expired', 'error',
            to_char(task.expires_at at time zone 'UTC', '"it expired at "YYYY-MM-DD HH24:MI:SS"Z, before "')
            || case when task.fence = 0 then 'it began' else 'its next attempt began' end
        ))
        from rolecall.tasks as task
        where task.id = any(p_ids) and rolecall.has_expired(task.state, task.expires_at, rolecall.clock())
    );
end
$$;

-- Says whether a task in such a state, which is to begin before a moment, has expired. Between two steps it
-- has none any more.
-- returns: true, else false or null
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.has_expired(
    p_state rolecall.task_state, p_expires_at timestamptz, p_now timestamptz
)
returns boolean
language sql
immutable
as $$
    select p_expires_at <= p_now and p_state in ('blocked', 'pending')
$$;
