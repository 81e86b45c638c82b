-- Lets go of tasks whose lease ran out. After a restart or a failover of the server it waits one lease, so that the workers
-- that live can renew.
-- returns: one row a rescued task, with the state it went to
-- raises: nothing
-- locks: tasks rows, skipping locked ones; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.rescue(p_limit int default 1000)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_losses jsonb;
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
        order by task.id
        limit p_limit
        for update of task skip locked
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', reason, 'error', case reason
        when 'crashed' then 'the lease ran out: its worker crashed, hung or lost the database'
        when 'timeout' then 'the deadline passed'
    end)) into v_losses from expired;
    if v_losses is null then
        return;
    end if;
    perform rolecall.require_durability();
    return query select * from rolecall.let_go(v_losses);
end
$$;
