-- Ends sessions of this database that hang: those that still run one of these tasks, which were just taken
-- from them, and those whose worker is gone. Other databases of the server, and sessions that run nothing for
-- a worker, are never touched.
create or replace function rolecall.end_sessions(p_task_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
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
