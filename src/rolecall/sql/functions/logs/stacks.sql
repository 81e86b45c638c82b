-- Asks the worker of a running task for the current stack of its handler. The request and its answer are
-- part 0 of the attempt's log lines: without a line until the worker has answered.
-- returns: requested; not_running, or missing
-- locks: a task_logs row
-- notifies: rolecall_command with the worker's id and the word stack
-- public: yes
create or replace function rolecall.request_stack(p_id bigint)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
    v_task record;
begin
    select task.worker_id, task.fence, task.attempt into v_task
    from rolecall.tasks as task
    where task.id = p_id and task.state = 'running';
    if not found then
        return case
            when exists (select from rolecall.all_tasks as task where task.id = p_id) then 'not_running'
            else 'missing'
        end;
    end if;
    insert into rolecall.task_logs (task_id, fence, part, attempt, at, lines)
    values (p_id, v_task.fence, 0, v_task.attempt, rolecall.clock(), '[]')
    on conflict (task_id, fence, part) do update set at = excluded.at, lines = excluded.lines;
    if v_task.worker_id is not null then
        perform rolecall.notify('rolecall_command', v_task.worker_id || ' stack');
    end if;
    return 'requested';
end
$$;

-- Finds the claims for whose stacks somebody asks, among those that a worker holds. The worker answers with
-- write_logs: one line in part 0.
-- returns: one row per request
-- public: yes
create or replace function rolecall.requested_stacks(p_ids bigint[], p_fences int[])
returns table (task_id bigint, fence int)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select part.task_id, part.fence
    from unnest(p_ids, p_fences) as claim (id, fence)
    join rolecall.task_logs as part on part.task_id = claim.id and part.fence = claim.fence and part.part = 0
    where part.lines = '[]'
$$;

-- Reads the latest stack of a task's handler that somebody asked for.
-- returns: no row if nobody asked; otherwise the attempt, the time of the answer (without one, of the
-- request), and the text (null without an answer)
-- public: yes
create or replace function rolecall.latest_stack(p_id bigint)
returns table (attempt int, fence int, at timestamptz, stack text)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select part.attempt, part.fence, part.at, part.lines -> 0 ->> 4
    from rolecall.task_logs as part
    where part.task_id = p_id and part.part = 0
    order by part.fence desc
    limit 1
$$;
