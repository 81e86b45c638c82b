-- Lists what happened to a task: from its row, its attempts, and its events.
-- returns: one row per point in time, oldest first
-- public: yes
create or replace function rolecall.timeline(p_id bigint)
returns table (at timestamptz, kind text, attempt int, worker_id bigint, detail text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with task as materialized (
        select * from rolecall.all_tasks where id = p_id
    ),
    attempts as materialized (
        select * from rolecall.attempts(p_id)
    )
    select moment.at, moment.kind, moment.attempt, moment.worker_id, moment.detail
    from (
        select created_at as at, 1 as turn, 'created' as kind, null::int as attempt,
            null::bigint as worker_id, null as detail
        from task
        union all
        select claimed_at, 2, 'claimed', attempt, worker_id, null from attempts
        union all
        select started_at, 3, 'started', attempt, worker_id, null from attempts
        union all
        select at, 4, kind, attempt, worker_id, detail from rolecall.task_events where task_id = p_id
        union all
        select finished_at, 5, state::text, attempt, worker_id, error from task
    ) as moment
    where moment.at is not null
    order by moment.at, moment.turn
$$;
