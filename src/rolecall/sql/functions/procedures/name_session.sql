-- Lets this session be known, until its transaction ends, as the one that runs a task for a worker: to
-- people, to `rescue`, and to the procedure that asks for its task.
create or replace function rolecall.name_session(p_worker_id bigint, p_id bigint)
returns void
language sql
volatile
set search_path = ''
as $$
    select set_config('application_name', format('rolecall:worker:%s:task:%s', p_worker_id, p_id), true),
        set_config('rolecall.task', p_id::text, true)
$$;
