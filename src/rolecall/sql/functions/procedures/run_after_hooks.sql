-- Runs the hooks after those of some tasks that have completed or failed and whose handlers have one.
-- locks: what the hooks lock
-- notifies: what the hooks notify
create or replace function rolecall.run_after_hooks(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    if exists (select from rolecall.handlers where after_procedure is not null) then
        perform rolecall.run_hook(task.id, handler.after_procedure, task.payload)
        from rolecall.finished_tasks as task
        join rolecall.lines as line on line.id = task.line_id
        join rolecall.handlers as handler on handler.name = line.handler
        where task.id = any(p_ids) and task.state in ('completed', 'failed')
            and handler.after_procedure is not null;
    end if;
end
$$;
