-- Finds the sessions of this database that run a SQL handler at this moment, by the name that `name_session`
-- gave them.
-- returns: one row a session; is_drain where the session itself is the worker
create or replace function rolecall.procedure_sessions()
returns table (pid int, worker_id bigint, task_id bigint, is_drain boolean, worker_is_gone boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select session.pid, named.worker_id, named.task_id, worker.host is null and worker.id is not null,
        coalesce(
            worker.stopped_at is not null or worker.heartbeat_at < rolecall.clock() - interval '5 min', true
        )
    from pg_catalog.pg_stat_activity as session
    cross join regexp_match(session.application_name, '^rolecall:worker:(\d{1,18}):task:(\d{1,18})$') as part
    cross join lateral (select part[1]::bigint as worker_id, part[2]::bigint as task_id) as named
    left join rolecall.workers as worker on worker.id = named.worker_id
    where part is not null and session.datname = current_database() and session.pid <> pg_backend_pid()
$$;

-- Ends sessions of this database that hang: those that still run one of these tasks, which were just taken
-- from them, and those whose worker is gone. Other databases of the server, and sessions that run nothing for
-- a worker, are never touched.
create or replace function rolecall.end_sessions(p_task_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_hanging record;
begin
    for v_hanging in
        select session.pid, session.worker_id, session.task_id
        from rolecall.procedure_sessions() as session
        where session.task_id = any(p_task_ids) or (session.worker_is_gone and not session.is_drain)
    loop
        begin
            perform pg_terminate_backend(v_hanging.pid);
        exception when insufficient_privilege then
            raise warning using message = format(
                'session %s hangs in task %s of the lost worker %s, but belongs to a user whose sessions this'
                ' one may not end',
                v_hanging.pid, v_hanging.task_id, v_hanging.worker_id
            );
        end;
    end loop;
end
$$;

-- Lets this session be known, until its transaction ends, as the one that runs a task for a worker: to
-- people, to `rescue`, and to the procedure that asks for its task.
create or replace function rolecall.name_session(p_worker_id bigint, p_id bigint)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select set_config('application_name', format('rolecall:worker:%s:task:%s', p_worker_id, p_id), true),
        set_config('rolecall.task', p_id::text, true)
$$;
