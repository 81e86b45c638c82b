-- Lists what happened to a task: from its row, its attempts, and its events. Changes by people have an actor
-- and, if they were part of one, a bulk action with the number of tasks that it has acted on.
-- returns: one row per point in time, oldest first
-- public: yes
create or replace function rolecall.timeline(p_id bigint)
returns table (
    at timestamptz, kind text, attempt int, worker_id bigint, detail text, actor text, bulk_action_id bigint,
    bulk_tasks bigint
)
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
    select moment.at, moment.kind, moment.attempt, moment.worker_id, moment.detail, moment.actor,
        moment.bulk_action_id, bulk.done
    from (
        select created_at as at, 1 as turn, 'created' as kind, null::int as attempt,
            null::bigint as worker_id, null as detail, null as actor, null::bigint as bulk_action_id
        from task
        union all
        select claimed_at, 2, 'claimed', attempt, worker_id, null, null, null from attempts
        union all
        select started_at, 3, 'started', attempt, worker_id, null, null, null from attempts
        union all
        select at, 4, kind, attempt, worker_id, detail, actor, bulk_action_id
        from rolecall.task_events
        where task_id = p_id
        union all
        select finished_at, 5, state::text, attempt, worker_id, error, null, null from task
    ) as moment
    left join rolecall.bulk_actions as bulk on bulk.id = moment.bulk_action_id
    where moment.at is not null
    order by moment.at, moment.turn
$$;
