-- The one way to lose a task: each goes back to pending by its retry policy, or ends as failed or cancelled. Errors, timeouts
-- and crashes spend the attempt; snoozes do not; shutdowns and crashes before the start do not, ten times at most. What its own
-- claim did not report also moves the fence on, so that a late report cannot take that end for its own.
-- returns: one row a task, with the state it went to
-- raises: nothing
-- locks: the caller holds the tasks; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.let_go(p_losses jsonb)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_keys text[];
    v_roles text[];
    v_ids bigint[];
    v_states rolecall.task_state[];
begin
    with loss as materialized (
        select task.id, task.attempt, task.worker_id, task.started_at, setting.role, given.reason, given.error, judged.*,
            task.fence + (given.reported is not true)::int as next_fence
        from jsonb_to_recordset(p_losses) as given (
            id bigint, reason text, error text, after float8, final boolean, reported boolean
        )
        join rolecall.tasks as task on task.id = given.id
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        cross join lateral rolecall.judge_loss(
            task, setting.retry, given.reason, given.after, coalesce(given.final, false), v_now
        ) as judged
    ),
    ended as (
        delete from rolecall.tasks as task using loss
        where task.id = loss.id and loss.next_state <> 'pending'
        returning task.*, loss.next_state, loss.next_fence, loss.error as last_error, loss.reason
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, error
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, v_now, worker_id, line_id,
            next_fence, attempt, max_attempts, next_state, key, dedupe_key, payload, retry, info,
            coalesce(last_error, error, case when next_state = 'failed' then reason end)
        from ended
        returning key
    ),
    back as (
        update rolecall.tasks as task
        set state = 'pending', scheduled_for = loss.due, fence = loss.next_fence, attempt = task.attempt - (not loss.spent)::int,
            refunds = task.refunds + (
                not loss.spent and (loss.reason = 'crashed' or (loss.reason = 'shutdown' and loss.started_at is not null))
            )::int,
            worker_id = null, claimed_at = null, started_at = null, lease_until = null, deadline_at = null,
            cancel_requested_at = null, key_slot = null, error = coalesce(loss.error, task.error)
        from loss
        where task.id = loss.id and loss.next_state = 'pending'
        returning task.key
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt, worker_id, detail)
        select id, v_now, reason, attempt, worker_id, error from loss order by id
    )
    select
        array_agg(loss.id), array_agg(loss.next_state),
        (select array_agg(distinct key) from (select key from moved union all select key from back) as held where key is not null),
        array_agg(distinct loss.role) filter (where loss.next_state = 'pending' and loss.due <= v_now)
    into v_ids, v_states, v_keys, v_roles
    from loss;
    perform rolecall.free_keys(v_keys);
    perform rolecall.wake(v_roles);
    return query select * from unnest(v_ids, v_states);
end
$$;
