-- Retries, cancels or deletes tasks for a person, and records the person in the events of tasks that change.
-- returns: one row per given id, with the outcomes of retry, cancel or delete_tasks; also refused: a retry
-- that would make the task wait for itself
-- raises: RC050 wrong isolation level; RC051 another transaction holds rows that it needs
-- locks: as retry, cancel or delete_tasks
-- notifies: rolecall_cancel with the worker's id; rolecall_wake, if an idle worker waits for a role
-- public: yes
create or replace function rolecall.act_on_tasks(
    p_action text, p_ids bigint[], p_actor text, p_bulk_action_id bigint default null,
    p_delays float8[] default null
)
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids bigint[];
    v_outcomes text[];
begin
    if p_action = 'delete' then
        return query select * from rolecall.delete_tasks(p_ids);
        return;
    elsif p_action = 'cancel' then
        select array_agg(done.task_id), array_agg(done.outcome) into v_ids, v_outcomes
        from rolecall.cancel(p_ids) as done;
    else
        begin
            select array_agg(done.task_id), array_agg(done.outcome) into v_ids, v_outcomes
            from rolecall.retry(p_ids, p_delays) as done;
        exception when sqlstate 'RC043' then
            -- One of them is refused. Alone, the others are not.
            select array_agg(given.id), array_agg(rolecall.retry_alone(given.id, p_delays[given.n::int]))
            into v_ids, v_outcomes
            from unnest(p_ids) with ordinality as given (id, n);
        end;
    end if;
    insert into rolecall.task_events (task_id, at, kind, attempt, actor, bulk_action_id)
    select done.id, rolecall.clock(), p_action, 0, p_actor, p_bulk_action_id
    from unnest(v_ids, v_outcomes) as done (id, outcome)
    where done.outcome in ('pending', 'cancelled', 'requested');
    return query select * from unnest(v_ids, v_outcomes);
end
$$;

-- Retries one task.
-- returns: the outcome of retry, or refused if the task would wait for itself
-- raises: RC050 wrong isolation level; RC051 another transaction holds rows that it needs
-- locks: as retry
-- notifies: as retry
create or replace function rolecall.retry_alone(p_id bigint, p_delay float8)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select done.outcome
        from rolecall.retry(array[p_id], case when p_delay is not null then array[p_delay] end) as done
    );
exception when sqlstate 'RC043' then
    return 'refused';
end
$$;
