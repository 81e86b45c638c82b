-- Sums up what finished of each role (or of one) within the last hour, and what it cost: `slot_seconds` is the time of slots that went
-- into `runs` ends of handlers. Tasks that one call of a handler did together share its time: no worker can spend more of it in a
-- minute than its slots have. A task that had failed before is taken to have cost as much each time.
-- returns: one row a role of which something finished; `slots` is what the workers had that did it, on average
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.recent_work(p_role text, p_now timestamptz)
returns table (
    role text, claimed bigint, completed bigint, failed bigint, arrived bigint, runs bigint, slot_seconds float8, slots float8
)
language sql
stable
set search_path = ''
-- A day's rows lie in the order in which they ended, so a summary of where which hour lies is enough.
set jit = off
set enable_seqscan = off
as $$
    -- Each row is looked at once: an hour may have a million.
    with ended as (
        select task.line_id, task.worker_id, date_bin('1 min', task.finished_at, 'epoch') as minute,
            count(*) filter (where task.claimed_at > p_now - interval '1 hour') as claimed,
            count(*) filter (where task.state = 'completed') as completed,
            count(*) filter (where task.state = 'failed') as failed,
            count(*) filter (where task.created_at > p_now - interval '1 hour') as arrived,
            -- A parent that ended with its last child has no claim of its own, and waited for most of its time.
            count(task.started_at) filter (where task.claimed_at is not null) as runs,
            sum(greatest(task.attempt, 1)) filter (where task.claimed_at is not null and task.started_at is not null) as attempts,
            sum(task.finished_at - task.started_at) filter (where task.claimed_at is not null) as took,
            min(task.started_at) filter (where task.claimed_at is not null) as first_start,
            max(task.finished_at) filter (where task.claimed_at is not null and task.started_at is not null) as last_end
        from rolecall.finished_tasks as task
        where task.finished_at > p_now - interval '1 hour' and task.finished_at < p_now + interval '1 hour'
            and (p_role is null or task.line_id = any(array(select line.id from rolecall.lines as line where line.role = p_role)))
        group by 1, 2, 3
    ),
    minutes as (
        select line.role, coalesce(max(worker.slots), 1) as slots, ended.worker_id is not null as measured,
            sum(ended.claimed) as claimed, sum(ended.completed) as completed, sum(ended.failed) as failed,
            sum(ended.arrived) as arrived, sum(ended.runs) as runs, sum(ended.attempts) / nullif(sum(ended.runs), 0) as attempts,
            extract(epoch from sum(ended.took)) as seconds, extract(epoch from max(ended.last_end) - min(ended.first_start)) as span
        from ended
        join rolecall.lines as line on line.id = ended.line_id
        left join rolecall.workers as worker on worker.id = ended.worker_id
        group by line.role, ended.worker_id, ended.minute
    )
    select minutes.role, sum(claimed)::bigint, sum(completed)::bigint, sum(failed)::bigint, sum(arrived)::bigint,
        coalesce(sum(runs) filter (where measured), 0)::bigint,
        (sum(least(seconds, minutes.slots * span) * attempts) filter (where measured))::float8,
        (sum(minutes.slots * runs) filter (where measured) / nullif(sum(runs) filter (where measured), 0))::float8
    from minutes
    group by minutes.role
$$;
