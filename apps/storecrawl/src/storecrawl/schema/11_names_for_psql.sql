-- Read-only views for psql users, with the names of earlier systems. For changes, use the API, the command
-- line or the functions of schema rolecall.

create view storecrawl.worker_tasks with (security_invoker = true) as
select
    task.id,
    task.role,
    store.id as dispensary_id,
    coalesce(task.payload ->> 'platform', crawled.platform) as platform,
    case
        when task.status in ('claimed', 'running', 'completed', 'failed', 'stale') then task.status
        when task.state = 'waiting' then 'running'
        when task.state = 'cancelled' then 'failed'
        else 'pending'
    end as status,
    task.priority,
    task.scheduled_for,
    case when task.claimed_at is not null then coalesce(worker.name, task.worker_id::text) end as worker_id,
    task.claimed_at,
    task.started_at,
    task.finished_at as completed_at,
    case
        when task.claimed_at is not null then least(worker.heartbeat_at, task.finished_at)
    end as last_heartbeat_at,
    task.result,
    case
        when task.state = 'cancelled' then coalesce(task.error, 'cancelled')
        else task.error
    end as error_message,
    greatest(task.attempt - 1, 0) as retry_count,
    nullif(task.max_attempts, 0) - 1 as max_retries,
    task.created_at,
    greatest(task.created_at, task.claimed_at, task.started_at, task.finished_at) as updated_at,
    task.payload,
    task.handler
from rolecall.all_tasks as task
left join rolecall.workers as worker on worker.id = task.worker_id
cross join lateral (
    -- Callers can store any text there.
    select coalesce(
        substring(task.payload ->> 'store_id' from '^\d{1,15}$'),
        substring(task.key from '^store:(\d{1,15})$')
    )::bigint as id
) as store
left join storecrawl.stores as crawled on crawled.id = store.id;

comment on view storecrawl.worker_tasks is
    'All open and finished tasks. status: pending, claimed, running, completed, failed (also cancelled '
    'tasks), stale.';
comment on column storecrawl.worker_tasks.worker_id is
    'The name of the worker. Its number a day after its departure.';
comment on column storecrawl.worker_tasks.last_heartbeat_at is
    'The last heartbeat of the task''s worker. At most the end of a finished task.';
comment on column storecrawl.worker_tasks.max_retries is 'Null means no limit.';

create view storecrawl.task_schedules with (security_invoker = true) as
select
    schedule.id,
    schedule.name,
    schedule.role,
    schedule.enabled,
    (extract(epoch from schedule.every) / 3600)::float8 as interval_hours,
    schedule.priority::int as priority,
    schedule.payload ->> 'state' as state_code,
    schedule.last_run_at,
    schedule.next_run_at,
    greatest(
        schedule.last_task_count,
        (
            select max(run.generated)
            from rolecall.schedule_runs as run
            where run.task_id = schedule.last_task_id and run.outcome = 'enqueued'
        )
    ) as last_task_count,
    schedule.last_error,
    schedule.immutable as is_immutable,
    schedule.created_at
from rolecall.schedules as schedule;

comment on column storecrawl.task_schedules.interval_hours is 'Null for schedules with a cron expression.';
comment on column storecrawl.task_schedules.state_code is
    'The state of the schedule''s tasks. Null for all states.';

create view storecrawl.v_worker_capacity with (security_invoker = true) as
select
    role,
    pending_tasks,
    ready_tasks,
    running_tasks,
    active_workers,
    claimed_last_hour,
    completed_last_hour,
    failed_last_hour,
    tasks_per_worker_hour,
    estimated_hours_to_drain
from rolecall.capacity();

comment on view storecrawl.v_worker_capacity is
    'One row per role. The rate is that of a worker of this role alone, over the last hour. Null without '
    'finished tasks.';
