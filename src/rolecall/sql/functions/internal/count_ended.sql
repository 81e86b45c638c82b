-- Makes the history's bins of one width from what finished within a time: how much, how it went, how long it waited and ran.
-- returns: nothing
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.count_ended(p_width int, p_from timestamptz, p_until timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
-- A day's rows lie in the order in which they ended, so a summary of where which moment lies is enough.
set jit = off
set enable_seqscan = off
as $$
declare
    v_bounds constant float8[] := rolecall.history_bounds();
begin
    insert into rolecall.history (
        role, width, at, completed, failed, cancelled, longest_wait, longest_run, wait_buckets, wait_counts, run_buckets, run_counts
    )
    with ended as (
        select task.line_id, task.state, date_bin(make_interval(secs => p_width), task.finished_at, 'epoch') as bin,
            -- A first claim and a retry begin to wait when they are due; a parent that goes on, for one, has waited for its children.
            case when task.fence = 1 or task.attempt > 1 then
                date_part('epoch', coalesce(task.started_at, task.claimed_at) - greatest(task.created_at, task.scheduled_for))
            end as waited,
            case when task.worker_id is not null and task.claimed_at is not null then
                date_part('epoch', task.finished_at - task.started_at)
            end as ran
        from rolecall.finished_tasks as task
        where task.finished_at >= p_from and task.finished_at < p_until
    ),
    grouped as (
        select line_id, state, bin, width_bucket(waited, v_bounds) as wait_bucket, width_bucket(ran, v_bounds) as run_bucket,
            count(*) as number, max(waited) as waited, max(ran) as ran
        from ended
        group by 1, 2, 3, 4, 5
    ),
    share as materialized (
        select shown.role, grouped.*
        from grouped
        join rolecall.lines as line on line.id = grouped.line_id
        cross join lateral (values (line.role), ('')) as shown (role)
    ),
    wait as (
        select role, bin, array_agg(bucket order by bucket) as buckets, array_agg(number order by bucket) as counts
        from (
            select role, bin, wait_bucket as bucket, sum(number) as number from share where wait_bucket is not null group by 1, 2, 3
        ) as summed
        group by role, bin
    ),
    run as (
        select role, bin, array_agg(bucket order by bucket) as buckets, array_agg(number order by bucket) as counts
        from (
            select role, bin, run_bucket as bucket, sum(number) as number from share where run_bucket is not null group by 1, 2, 3
        ) as summed
        group by role, bin
    ),
    total as (
        select role, bin, sum(number) filter (where state = 'completed') as completed,
            sum(number) filter (where state = 'failed') as failed, sum(number) filter (where state = 'cancelled') as cancelled,
            max(waited) as waited, max(ran) as ran
        from share
        group by role, bin
    )
    select role, p_width, bin, coalesce(completed, 0), coalesce(failed, 0), coalesce(cancelled, 0), waited, ran,
        coalesce(wait.buckets, '{}'), coalesce(wait.counts, '{}'), coalesce(run.buckets, '{}'), coalesce(run.counts, '{}')
    from total
    left join wait using (role, bin)
    left join run using (role, bin);
end
$$;
