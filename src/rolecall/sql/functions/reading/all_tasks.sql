-- Open and finished tasks in one view, with their derived statuses.
-- returns: one row per task
-- public: yes
create or replace view rolecall.all_tasks with (security_invoker = true) as
select
    task.id, shown.state,
    rolecall.status_of(
        shown.state, task.parked, task.scheduled_for, task.attempt, task.lease_until, task.started_at
    ) as status,
    line.role, line.handler, line.priority::int as priority, task.payload, null::jsonb as result, task.info,
    task.error, task.key, substr(task.dedupe_key, length(line.handler) + 2) as dedupe_key,
    task.attempt, task.max_attempts, task.fence, task.worker_id, task.chain_id, task.chain_index,
    task.scheduled_for, task.created_at, task.claimed_at, task.started_at, task.lease_until, task.deadline_at,
    task.cancel_requested_at, null::timestamptz as finished_at,
    task.origin_id, task.parent_id, coalesce(task.depth, 0)::int as depth,
    coalesce(task.open_children, 0) as open_children, coalesce(task.open_needs, 0) as open_needs,
    coalesce(task.step_number, 0) as step,
    coalesce(task.on_failure, 'fail_parent')::text as on_failure,
    extract(epoch from task.timeout)::float8 as timeout, task.expires_at, task.fire_time,
    null::bigint as error_group
from rolecall.tasks as task
cross join lateral (
    select rolecall.shown_state(task.state, task.key_slot, task.started_at) as state
) as shown
join rolecall.lines as line on line.id = task.line_id
union all
select
    task.id, task.state, task.state::text,
    line.role, line.handler, line.priority::int, task.payload, task.result, task.info, task.error,
    task.key, substr(task.dedupe_key, length(line.handler) + 2),
    task.attempt, task.max_attempts, task.fence, task.worker_id, task.chain_id, task.chain_index,
    task.scheduled_for, task.created_at, task.claimed_at, task.started_at, null, null,
    null, task.finished_at,
    task.origin_id, task.parent_id, coalesce(task.depth, 0)::int, 0, 0, 0,
    coalesce(task.on_failure, 'fail_parent')::text, extract(epoch from task.timeout)::float8, task.expires_at,
    task.fire_time, task.error_group
from rolecall.finished_tasks as task
join rolecall.lines as line on line.id = task.line_id;
