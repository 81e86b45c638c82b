-- Finds the sessions of this database that are running a SQL handler, by the application name that
-- `name_session` set.
-- returns: one row per session; is_drain if the session itself is the worker
create or replace function rolecall.procedure_sessions()
returns table (pid int, worker_id bigint, task_id bigint, is_drain boolean, worker_is_gone boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select session.pid, named.worker_id, named.task_id, worker.host is null and worker.id is not null,
        coalesce(
            worker.stopped_at is not null
            or greatest(worker.heartbeat_at, rolecall.epoch_began_at()) < rolecall.clock() - interval '5 min',
            true
        )
    from pg_catalog.pg_stat_activity as session
    cross join regexp_match(
        session.application_name, '^rolecall:worker:([0-9]{1,18}):task:([0-9]{1,18})$'
    ) as part
    cross join lateral (select part[1]::bigint as worker_id, part[2]::bigint as task_id) as named
    left join rolecall.workers as worker on worker.id = named.worker_id
    where part is not null and session.datname = current_database() and session.pid <> pg_backend_pid()
$$;

-- Finds the sessions of this database whose open transaction completes a task for a worker, by the
-- application name that `bound_completion` set.
-- returns: one row per session
create or replace function rolecall.completing_sessions()
returns table (pid int, worker_id bigint, task_id bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select session.pid, part[1]::bigint, part[2]::bigint
    from pg_catalog.pg_stat_activity as session
    cross join regexp_match(
        session.application_name, '^rolecall:worker:([0-9]{1,18}):finish:([0-9]{1,18})$'
    ) as part
    where part is not null and session.datname = current_database() and session.pid <> pg_backend_pid()
$$;

-- Terminates stuck sessions of this database: those still running the SQL handler of one of these tasks,
-- which have just been rescued; those running one for a worker that is gone; and those whose open
-- transaction completes a task whose lease expired at least one lease ago. Never touches other databases of
-- the server, or sessions that do nothing for a worker.
create or replace function rolecall.end_sessions(p_task_ids bigint[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select rolecall.end_session(session.pid, session.worker_id, session.task_id, '0 s')
    from rolecall.procedure_sessions() as session
    where session.task_id = any(p_task_ids) or (session.worker_is_gone and not session.is_drain);
    select rolecall.end_session(session.pid, session.worker_id, session.task_id, '0 s')
    from rolecall.completing_sessions() as session
    cross join lateral (
        select held.lease_until, held.line_id
        from rolecall.tasks as held
        where held.id = session.task_id and held.worker_id = session.worker_id and held.state = 'running'
        offset 0
    ) as task
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    where task.lease_until + setting.lease < rolecall.clock()
        and rolecall.epoch_began_at() + setting.lease < rolecall.clock();
$$;

-- Terminates a session and waits up to p_wait for its end. If this login must not terminate the session, it
-- is left to its idle_in_transaction_session_timeout.
create or replace function rolecall.end_session(
    p_pid int, p_worker_id bigint, p_task_id bigint, p_wait interval
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_terminate_backend(p_pid, (extract(epoch from p_wait) * 1000)::bigint);
exception when insufficient_privilege then
    raise warning using message = format(
        'session %s is stuck in task %s of the lost worker %s, but this login must not terminate the'
        ' sessions of its user',
        p_pid, p_task_id, p_worker_id
    );
end
$$;

-- Names this session, until its transaction ends, as the one that runs a task for a worker: for operators,
-- for `rescue`, and for the procedure's `current_task`.
create or replace function rolecall.name_session(p_worker_id bigint, p_id bigint)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select set_config('application_name', format('rolecall:worker:%s:task:%s', p_worker_id, p_id), true),
        set_config('rolecall.task', p_id::text, true)
$$;
