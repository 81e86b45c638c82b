-- Lists who may still commit that something finished, or was tried again, at a time that has passed: open
-- transactions, and prepared ones. Who writes that down holds a lock on its table until he commits, and
-- everybody may see locks, whoever holds them. 1. One that holds such a lock may have written at any time
-- since it began. 2. One that holds none, but runs a statement, may have read the clock in that statement
-- only; one that runs none has no such time in its hands, and one that is aborted will never commit. 3. Of
-- another role's session nothing but its locks is seen without the right to read all statistics. Where it
-- holds or awaits one on a table of ours that readers do not take, it may have begun at any time. Else it may
-- have read the clock, but not yet come to its first lock; the caller's margin is for that. 4. One that is
-- prepared no longer says when it began; but until it was, it bounded the answers before.
-- returns: one row each: its id among transactions, whose it is, when it began (null where that is not
-- known), and its name: that of its session, or the one under which it was prepared
create or replace function rolecall.late_committers()
returns table (virtual_id text, user_name name, began timestamptz, prepared boolean, known_as text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_database constant oid := (
        select database.oid from pg_catalog.pg_database as database where datname = current_database()
    );
    v_ours constant oid[] := array(
        select oid from pg_catalog.pg_class where relnamespace = 'rolecall'::regnamespace
    );
    v_told constant oid[] := array['rolecall.finished_tasks'::regclass, 'rolecall.task_events'::regclass];
    v_sessions jsonb;
begin
    -- Within a transaction the server would show the same sessions again.
    perform pg_stat_clear_snapshot();
    -- First the sessions: a lock that is seen was taken before, or in a statement that began later.
    v_sessions := (
        select jsonb_agg(jsonb_build_object(
            'pid', session.pid, 'user_name', session.usename, 'hidden',
            session.state is null or session.state = 'disabled', 'running', session.state not like 'idle%',
            'began', session.xact_start, 'asked', greatest(session.xact_start, session.query_start)
        ))
        from pg_catalog.pg_stat_activity as session
        where session.datid = v_database and session.pid <> pg_backend_pid()
            and session.backend_type is distinct from 'autovacuum worker'
            and session.state is distinct from 'idle'
            and session.state is distinct from 'idle in transaction (aborted)'
    );
    return query
    with lock as materialized (
        select * from pg_catalog.pg_locks
    ),
    held as (
        select lock.pid, lock.virtualtransaction, lock.relation = any(v_told)
            and lock.mode <> 'AccessShareLock' as writes
        from lock
        where lock.database = v_database and lock.relation = any(v_ours)
            and (lock.mode <> 'AccessShareLock' or not lock.granted)
    )
    select
        (select max(held.virtualtransaction) from held where held.pid = session.pid), session.user_name,
        case when session.hidden then null when hand.writes then session.began else session.asked end,
        false, 'session ' || session.pid
    from jsonb_to_recordset(v_sessions) as session (
        pid int, user_name name, hidden boolean, running boolean, began timestamptz, asked timestamptz
    )
    cross join lateral (select bool_or(held.writes) as writes from held where held.pid = session.pid) as hand
    where case when session.hidden then hand.writes is not null else hand.writes is true
        or session.running end
    union all
    select held.virtualtransaction, gone.owner, null, true, 'prepared transaction ' || gone.gid
    from (select distinct virtualtransaction from held where held.pid is null and held.writes) as held
    join lock on lock.pid is null and lock.virtualtransaction = held.virtualtransaction
        and lock.locktype = 'transactionid'
    join pg_catalog.pg_prepared_xacts as gone on gone.transaction = lock.transactionid;
end
$$;
