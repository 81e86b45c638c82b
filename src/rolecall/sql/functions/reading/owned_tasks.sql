-- Lists the tasks of an owner, open and finished, newest first: all, one by its id, or those of the newest
-- 50,000 whose title contains a text, case-insensitively, and that have one of the given statuses.
-- returns: one row per task
-- public: yes
create or replace function rolecall.owned_tasks(
    p_owner text, p_id bigint default null, p_text text default null, p_statuses text[] default null,
    p_skip int default 0, p_limit int default 10
)
returns table (
    id bigint, title text, owner text, payload jsonb, priority int, status text, worker_id bigint,
    attempt int, created_at timestamptz, scheduled_for timestamptz, updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- A plan for the given values omits absent filters.
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
as $$
begin
    return query
    select task.id, owned.title, owned.owner, task.payload, task.priority, task.status, task.worker_id,
        task.attempt, task.created_at, task.scheduled_for,
        coalesce(task.finished_at, task.started_at, task.claimed_at, task.created_at)
    from (
        select newest.task_id, newest.title, newest.owner from rolecall.task_owners as newest
        where newest.owner = p_owner and (p_id is null or newest.task_id = p_id)
        order by newest.task_id desc
        limit 50000
    ) as owned
    -- Looks up each by its id: a join would read all tasks.
    cross join lateral (select * from rolecall.all_tasks as one where one.id = owned.task_id offset 0) as task
    where (p_text is null or strpos(lower(owned.title), lower(p_text)) > 0)
        and (p_statuses is null or task.status = any(p_statuses))
    order by owned.task_id desc
    offset p_skip
    limit p_limit;
end
$$;
