-- The one way to lose a task: each goes back to pending by its retry policy, waits for what it needs, or ends as failed or
-- cancelled. Errors, timeouts and crashes spend the attempt; snoozes do not; shutdowns and crashes before the start do not, ten
-- times at most. What its own claim did not report also moves the fence on, so that a late report cannot take that end for its own.
-- Whoever calls this draws the conclusions (`conclude`).
-- returns: one row: the tasks with the states they went to; the keys that they gave up, and the endings that others may wait for
-- raises: nothing
-- locks: the caller holds the tasks
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.let_go(p_losses jsonb)
returns table (ids bigint[], states rolecall.task_state[], keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_judged jsonb;
    v_end record;
    v_free text[];
    v_lines int[];
begin
    select jsonb_agg(jsonb_build_object(
        'id', task.id, 'attempt', task.attempt, 'worker_id', task.worker_id, 'line_id', task.line_id, 'reason', given.reason,
        'spent', judged.spent, 'state', judged.next_state, 'due', judged.due, 'needs', given.needs,
        'error', coalesce(given.error, task.error, case when judged.next_state = 'failed' then given.reason end), 'detail', given.error,
        'fence', task.fence + (given.reported is not true)::int,
        'refund', not judged.spent
            and (given.reason = 'crashed' or (given.reason = 'shutdown' and task.started_at is not null))
    ))
    into v_judged
    from jsonb_to_recordset(p_losses) as given (
        id bigint, reason text, error text, after float8, final boolean, reported boolean, needs jsonb
    )
    join rolecall.tasks as task on task.id = given.id
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    cross join lateral rolecall.judge_loss(
        task, setting.retry, given.reason, given.after, coalesce(given.final, false), v_now
    ) as judged;
    select * into v_end
    from rolecall.end_tasks(jsonb_path_query_array(v_judged, '$[*] ? (@.state == "failed" || @.state == "cancelled")'));
    with loss as materialized (
        select * from jsonb_to_recordset(v_judged) as judged (
            id bigint, attempt int, worker_id bigint, line_id int, reason text, spent boolean, state rolecall.task_state,
            due timestamptz, needs jsonb, error text, detail text, fence int, refund boolean
        )
    ),
    back as (
        update rolecall.tasks as task
        set state = loss.state, open_needs = case when loss.state = 'blocked' then jsonb_array_length(loss.needs) end,
            scheduled_for = loss.due, fence = loss.fence, attempt = task.attempt - (not loss.spent)::int,
            refunds = task.refunds + loss.refund::int, worker_id = null, claimed_at = null, started_at = null,
            lease_until = null, deadline_at = null, cancel_requested_at = null, key_slot = null, error = loss.error
        from loss
        where task.id = loss.id and loss.state in ('pending', 'blocked')
        returning task.key
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt, worker_id, detail)
        select id, v_now, reason, attempt, worker_id, detail from loss order by id
    )
    select
        array_agg(id), array_agg(state), (select array_agg(distinct key) from back where key is not null),
        array_agg(line_id) filter (where state = 'pending' and due <= v_now)
    into ids, states, v_free, v_lines
    from loss;
    keys := v_end.keys || v_free;
    endings := v_end.endings;
    perform rolecall.wake_lines(v_lines);
    return next;
end
$$;
