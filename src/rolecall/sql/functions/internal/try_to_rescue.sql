-- Lets go of tasks as rescue does, unless something was waited for too long, or came meanwhile.
-- returns: one row a rescued task, with the state it went to
-- raises: 55P03, RC090 undo this and try again
-- locks: tasks rows, skipping locked ones; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.try_to_rescue(p_limit int, p_silent_for interval)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_losses jsonb;
    v_let_go record;
    -- What a drain runs is its session's, whose end rolls it back: no lease can tell more.
    v_drained bigint[] := array(select session.task_id from rolecall.procedure_sessions() as session where session.is_drain);
begin
    with expired as (
        select task.id, case
            when task.cancel_requested_at is not null then 'cancelled'
            when task.deadline_at <= v_now then 'timeout'
            else 'crashed'
        end as reason
        from rolecall.tasks as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        where task.state = 'running' and task.lease_until < v_now and v_up_since + setting.lease < v_now
            and task.lease_until - setting.lease <= v_now - p_silent_for
            and (task.id <> all(v_drained) or task.deadline_at <= v_now)
        order by task.id
        limit p_limit
        for update of task skip locked
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', reason, 'error', case reason
        when 'crashed' then 'the lease ran out: its worker crashed, hung or lost the database'
        when 'timeout' then 'the deadline passed'
    end)) into v_losses from expired;
    if v_losses is null then
        perform rolecall.end_sessions('{}');
        return;
    end if;
    perform rolecall.require_durability();
    select * into v_let_go from rolecall.let_go(v_losses);
    perform rolecall.end_sessions(v_let_go.ids);
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
    return query select * from unnest(v_let_go.ids, v_let_go.states);
end
$$;
