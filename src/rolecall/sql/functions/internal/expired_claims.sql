-- Takes claims for a rescue: their lease ran out, nobody has renewed them for p_silent_for, and the server has been up for a lease. What
-- a drain runs is its session's, whose end rolls it back: no lease can tell more.
-- returns: one document a claim, as let_go takes it
-- raises: nothing
-- locks: tasks rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.expired_claims(p_limit int, p_silent_for interval)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_drained bigint[] := array(select session.task_id from rolecall.procedure_sessions() as session where session.is_drain);
begin
    return query
    select jsonb_build_object('id', task.id) || case
        when task.cancel_requested_at is not null then '{"reason": "cancelled"}'
        when task.deadline_at <= v_now then '{"reason": "timeout", "error": "the deadline passed"}'
        else '{"reason": "crashed", "error": "the lease ran out: its worker crashed, hung or lost the database"}'
    end::jsonb
    from rolecall.tasks as task
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    where task.state = 'running' and task.lease_until < v_now and v_up_since + setting.lease < v_now
        and task.lease_until - setting.lease <= v_now - p_silent_for
        and (task.id <> all(v_drained) or task.deadline_at <= v_now)
    -- By chance: what stays locked must not be all that is ever looked at.
    order by random()
    limit p_limit
    for update of task skip locked;
end
$$;
