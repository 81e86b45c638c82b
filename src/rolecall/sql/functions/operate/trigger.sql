-- Makes scheduled tasks due now, all or none. A task that is already due keeps its position.
-- returns: one row per given id, in input order, with the time since which it is due
-- raises: RC002 no such task; RC003 a task that is not pending, with its id as the detail; RC050 wrong
-- isolation level; RC051 another transaction holds rows that it needs
-- locks: as hold_tasks does
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.trigger(p_ids bigint[])
returns table (task_id bigint, scheduled_for timestamptz)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_began constant timestamptz := clock_timestamp();
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_trigger(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_a_while(v_began);
        end;
    end loop;
end
$$;

-- Makes tasks due as trigger does, unless a lock wait timed out.
-- returns: one row per given id, in input order, with the time since which it is due
-- raises: RC002 no such task; RC003 a task that is not pending, with its id as the detail; 55P03, RC090
-- roll back and try again
-- locks: as hold_tasks does
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.try_to_trigger(p_ids bigint[])
returns table (task_id bigint, scheduled_for timestamptz)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_odd record;
    v_lines int[];
    v_due bigint[];
begin
    perform rolecall.hold_tasks(p_ids);
    select given.id, task.state into v_odd
    from unnest(p_ids) with ordinality as given (id, n)
    left join rolecall.all_tasks as task on task.id = given.id
    where task.state is distinct from 'pending'
    order by given.n
    limit 1;
    if found then
        raise exception using detail = v_odd.id::text, errcode = case
            when v_odd.state is null then 'RC002'
            else 'RC003'
        end,
            message = coalesce(
                format('task %s cannot be triggered: it is not pending but ', v_odd.id) || v_odd.state,
                format('there is no task %s', v_odd.id)
            );
    end if;
    with due as (
        update rolecall.tasks as task
        set scheduled_for = v_now
        where task.id = any(p_ids) and task.scheduled_for > v_now
        returning task.id, task.line_id, task.attempt
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select id, v_now, 'triggered', attempt from due order by id
    )
    select array_agg(due.line_id), array_agg(due.id) into v_lines, v_due from due;
    perform rolecall.wake_lines(v_lines);
    if rolecall.collects_events() then
        perform rolecall.note_open('job_triggered', v_due);
    end if;
    return query
    select task.id, task.scheduled_for
    from unnest(p_ids) with ordinality as given (id, n)
    join rolecall.tasks as task on task.id = given.id
    order by given.n;
end
$$;
