-- Open and finished work as one pool, with the names that people know a row's situation by.
-- returns: one row a task
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace view rolecall.all_tasks as
select
    task.id, task.state,
    case
        when task.state = 'pending' and task.parked then 'parked'
        when task.state = 'pending' and task.scheduled_for > rolecall.clock()
            then case when task.attempt > 0 then 'retrying' else 'scheduled' end
        when task.state = 'pending' then 'ready'
        when task.state = 'running' and task.lease_until < rolecall.clock() then 'stale'
        when task.state = 'running' and task.started_at is null then 'claimed'
        else task.state::text
    end as status,
    line.role, line.handler, line.priority::int as priority, task.payload, null::jsonb as result, task.info, task.error,
    task.key, substr(task.dedupe_key, length(line.handler) + 2) as dedupe_key,
    task.attempt, task.max_attempts, task.fence, task.worker_id, task.chain_id, task.chain_index,
    task.scheduled_for, task.created_at, task.claimed_at, task.started_at, task.lease_until, task.deadline_at,
    task.cancel_requested_at, null::timestamptz as finished_at
from rolecall.tasks as task
join rolecall.lines as line on line.id = task.line_id
union all
select
    task.id, task.state, task.state::text,
    line.role, line.handler, line.priority::int, task.payload, task.result, task.info, task.error,
    task.key, substr(task.dedupe_key, length(line.handler) + 2),
    task.attempt, task.max_attempts, task.fence, task.worker_id, task.chain_id, task.chain_index,
    task.scheduled_for, task.created_at, task.claimed_at, task.started_at, null, null,
    null, task.finished_at
from rolecall.finished_tasks as task
join rolecall.lines as line on line.id = task.line_id;
