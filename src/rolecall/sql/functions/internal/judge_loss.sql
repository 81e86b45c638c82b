-- Decides what a lost claim comes to. A task whose cancellation was asked for never runs again, however its claim ends.
-- returns: one row: the attempt is spent, the state that follows, and when a pending task is due again
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.judge_loss(
    p_task rolecall.tasks, p_policy jsonb, p_reason text, p_after float8, p_final boolean, p_now timestamptz
)
returns table (spent boolean, next_state rolecall.task_state, due timestamptz)
language sql
volatile
set search_path = ''
as $$
    with charge as (
        select case p_reason
            when 'snoozed' then false
            when 'blocked' then false
            when 'returned' then false
            when 'misfit' then coalesce(p_final, false)
            when 'shutdown' then p_task.started_at is not null and (p_task.refunds >= 10 or p_task.max_attempts is not distinct from 1)
            when 'crashed' then p_task.started_at is not null
            else true
        end as spent
    ),
    wait as (
        select spent, case
            when p_after is not null then make_interval(secs => least(greatest(p_after, 0), 4e9))
            when spent then rolecall.retry_delay(coalesce(p_task.retry, p_policy), p_task.attempt)
        end as delay
        from charge
    )
    select
        spent,
        case
            when p_reason = 'cancelled' then 'cancelled'
            when spent and (p_final or p_task.attempt >= p_task.max_attempts or delay is null) then 'failed'
            when p_task.cancel_requested_at is not null then 'cancelled'
            when p_reason = 'blocked' then 'blocked'
            else 'pending'
        end::rolecall.task_state,
        coalesce(p_now + delay, p_task.scheduled_for)
    from wait
$$;
