-- Lists a task's attempts: each claim with its worker and outcome. The last one comes from the task's row.
-- An attempt that was returned or refunded has the same number as the next. The worker of
-- a claim that was ended from outside is null.
-- returns: one row per claim, in the order in which they ended; ended_at and outcome are null while it runs
-- public: yes
create or replace function rolecall.attempts(p_id bigint)
returns table (
    attempt int, worker_id bigint, claimed_at timestamptz, started_at timestamptz, ended_at timestamptz,
    outcome text, error text
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with ended as (
        select event.attempt, event.worker_id, event.claimed_at, event.started_at, event.at, event.kind,
            event.detail
        from rolecall.task_events as event
        -- Events of operators have no worker.
        where event.task_id = p_id and event.worker_id is not null
    ),
    latest as (
        select task.attempt, task.worker_id, task.claimed_at, task.started_at, task.finished_at,
            case when task.finished_at is not null then task.state::text end,
            case when task.finished_at is not null then task.error end
        from rolecall.all_tasks as task
        where task.id = p_id and task.claimed_at is not null and (
            task.state in ('running', 'completed') or not exists (
                select from ended where ended.attempt = task.attempt and ended.at >= task.claimed_at
            )
        )
    )
    select * from ended
    union all
    select * from latest
    order by at, claimed_at
$$;
