-- Cancels expired tasks: pending and blocked ones whose expires_at has passed. Tasks that an open
-- transaction holds are left to the next call.
-- returns: one row per cancelled task, with its new state
-- raises: RC050 wrong isolation level
-- locks: tasks rows, skipping locked rows; keys rows in key order
-- notifies: as conclude
-- public: yes
create or replace function rolecall.expire(p_limit int default 1000)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
