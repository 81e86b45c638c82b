-- Finds the sessions of this database that run a SQL handler at this moment, by the name that `name_session`
-- gave them.
-- returns: one row a session; is_drain where the session itself is the worker
create or replace function rolecall.procedure_sessions()
returns table (pid int, worker_id bigint, task_id bigint, is_drain boolean, worker_is_gone boolean)
language sql
stable
set search_path = ''
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
