-- Runs the hook that a SQL handler has before its procedure: in a transaction of its own, so that others see
-- what it says while the procedure runs.
-- locks: what the hook locks
-- notifies: what the hook notifies
-- public: yes
create or replace function rolecall.run_before_hook(p_worker_id bigint, p_id bigint, p_fence int)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_task record;
begin
    select task.payload, handler.before_procedure into v_task
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    join rolecall.handlers as handler on handler.name = line.handler
    where task.id = p_id and task.fence = p_fence and (task.worker_id = p_worker_id) is true
        and handler.before_procedure is not null;
    if found then
        perform rolecall.name_session(p_worker_id, p_id);
        perform rolecall.run_hook(p_id, v_task.before_procedure, v_task.payload);
        perform set_config('rolecall.task', '', true);
    end if;
end
$$;
