-- Stores a bulk action: an operator's action on all tasks that match a filter and exist now. A maintenance
-- duty works it off in batches, from p_delay seconds on; until then it can be withdrawn. A retry with a rate
-- makes so many tasks due each second. Actions that finished longer ago than the audit log is kept are
-- deleted.
-- returns: its id
-- raises: 23514 another action, an empty filter, or an invalid rate; 22P02 an invalid filter
-- locks: nothing that another call waits for
-- public: yes
create or replace function rolecall.start_bulk_action(
    p_action text, p_filter jsonb, p_actor text, p_total bigint default null, p_rate float8 default null,
    p_delay float8 default 10
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := rolecall.clock();
    v_starts_at constant timestamptz := v_now + make_interval(secs => p_delay);
    v_id bigint;
begin
    -- An invalid filter must not fail only when the action is worked off.
    perform jsonb_populate_record(null::rolecall.task_filter, p_filter);
    delete from rolecall.bulk_actions
    where id in (
        select old.id
        from rolecall.bulk_actions as old
        join rolecall.retention as retention on retention.kind = 'audit_log'
        where old.finished_at < v_now - retention.keep
        for update of old skip locked
    );
    insert into rolecall.bulk_actions (
        action, filter, rate, actor, created_at, starts_at, next_at, below, total
    )
    select p_action, p_filter, p_rate, p_actor, v_now, v_starts_at, v_starts_at,
        1 + case when drawn.is_called then drawn.last_value else 0 end, p_total
    from rolecall.tasks_id_seq as drawn
    returning id into v_id;
    return v_id;
end
$$;
