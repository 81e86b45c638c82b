-- Says until when nothing can finish any more: each task that is seen as finished later, finished after it.
--
-- A task's `finished_at` is read from the clock by the statement that ends it, and others see it only when the transaction
-- commits, maybe hours later. So what is open now bounds the answer:
-- 1. One that has written (it has a transaction id) may have finished something at any time since it began.
-- 2. One that has not written, but runs a statement, may have read the clock in that statement only.
-- 3. One that has not written and runs nothing has no such time in its hands; one that is aborted will never commit.
-- 4. One whose times this user may not see may have begun at any time. It takes the right to read all statistics to look further.
-- 5. One that is prepared no longer says when it began; but until it was, it bounded the answers before.
-- 6. One that begins after the clock was read here will finish later than that; and each leaves these lists only after all can see
--    what it has committed. So: first the clock, then the sessions, then what is prepared, and what is counted last of all.
-- The clock may go back a little, so a margin is kept from all of this.
-- returns: the moment; -infinity where nothing is sure
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.settled_until(p_margin interval)
returns timestamptz
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_until timestamptz := least(rolecall.clock(), clock_timestamp());
    v_oldest timestamptz;
begin
    -- Within a transaction the server would show the same sessions again.
    perform pg_stat_clear_snapshot();
    select min(case
        when session.state is null or session.state = 'disabled' then '-infinity'
        when session.backend_xid is not null then session.xact_start
        else greatest(session.xact_start, session.query_start)
    end) into v_oldest
    from pg_catalog.pg_stat_activity as session
    where session.datid = (select oid from pg_catalog.pg_database where datname = current_database())
        and session.pid <> pg_backend_pid() and session.backend_type is distinct from 'autovacuum worker'
        and exists (
            select from pg_catalog.pg_locks as held where held.pid = session.pid and held.locktype = 'virtualxid' and held.granted
        )
        and session.state is distinct from 'idle in transaction (aborted)'
        and (session.state is distinct from 'idle in transaction' or session.backend_xid is not null);
    if exists (select from pg_catalog.pg_prepared_xacts as prepared where prepared.database = current_database()) then
        return '-infinity';
    end if;
    return least(v_until, v_oldest) - p_margin;
end
$$;
