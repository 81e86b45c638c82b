-- Lists the tasks that workers are running, for each worker those that have run longest, up to p_most.
-- returns: one row per task, a worker's longest running first
-- public: yes
create or replace function rolecall.work_in_hand(p_worker_ids bigint[], p_most int)
returns table (
    id bigint, worker_id bigint, role text, handler text, key text, attempt int, started_at timestamptz
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select task.id, task.worker_id, line.role, line.handler, task.key, task.attempt, task.started_at
    from unnest(p_worker_ids) as given (worker_id)
    cross join lateral (
        select running.id, running.worker_id, running.line_id, running.key, running.attempt,
            running.started_at
        from rolecall.tasks as running
        where running.worker_id = given.worker_id and running.state = 'running'
            and running.started_at is not null
        order by running.started_at, running.id
        limit p_most
    ) as task
    join rolecall.lines as line on line.id = task.line_id
    order by task.worker_id, task.started_at, task.id
$$;
