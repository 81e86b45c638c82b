-- Reopens failed and cancelled tasks as pending, or as blocked if a need is open, with the same id and
-- fence and with all their attempts available again: now, or each after its delay in seconds.
-- returns: one row per given id: pending, open (not finished), completed (cannot be retried), duplicate (an
-- open task has its dedupe key), missing
-- raises: RC043 tasks that would wait for themselves; RC050 wrong isolation level; RC051 another
-- transaction holds rows that it needs
-- locks: open children and needed tasks, children before parents; open parents, the deepest first, in id
-- order; finished_tasks rows in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.retry(p_ids bigint[], p_delays float8[] default null)
returns table (task_id bigint, outcome text)
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
            return query select * from rolecall.try_to_retry(p_ids, p_delays);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_a_while(v_began);
        end;
    end loop;
end
$$;

-- Reopens tasks as retry does, unless a lock wait timed out.
-- returns: one row per given id: pending, open (not finished), completed (cannot be retried), duplicate (an
-- open task has its dedupe key), missing
-- raises: RC043 tasks that would wait for themselves; 55P03, RC090 roll back and try again
-- locks: open children and needed tasks, children before parents; open parents, the deepest first, in id
-- order; finished_tasks rows in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.try_to_retry(p_ids bigint[], p_delays float8[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_back bigint[];
begin
    perform rolecall.hold_for_retry(p_ids);
    v_back := rolecall.bring_back(p_ids, p_delays);
    perform rolecall.await_needs_again(v_back);
    if rolecall.collects_events() then
        perform rolecall.note_open('job_retried', v_back);
    end if;
    perform rolecall.wake_lines(array(
        select task.line_id from rolecall.tasks as task
        where task.id = any(v_back) and task.state = 'pending'
    ));
    return query
    select given.id, coalesce(
        case when given.id = any(v_back) then 'pending' end,
        (select 'open' from rolecall.tasks as task where task.id = given.id),
        (
            select case finished.state when 'completed' then 'completed' else 'duplicate' end
            from rolecall.finished_tasks as finished
            where finished.id = given.id
            limit 1
        ),
        'missing'
    )
    from unnest(p_ids) as given (id);
end
$$;

-- Locks the tasks related to finished tasks that may be reopened: open tasks below them, their needs, which
-- they will wait for again, and open parents, which will wait for them.
-- locks: open children and needed tasks, children before parents; open parents, the deepest first, in id
-- order; then the finished tasks in id order
create or replace function rolecall.hold_for_retry(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_held bigint[];
begin
    loop
        v_held := array(
            select task.id from rolecall.tasks as task
            where task.parent_id = any(p_ids)
                or task.id = any(
                    array(select need.needed_id from rolecall.needs as need where need.task_id = any(p_ids))
                )
            order by task.id
            for update
        );
        -- A child's chain may have continued while its last task was waited for.
        exit when not exists (
            select from rolecall.tasks as child where child.parent_id = any(p_ids) and child.id <> all(v_held)
        );
    end loop;
    perform from rolecall.tasks as parent
    where parent.id = any(array(
        select ended.parent_id
        from rolecall.finished_tasks as ended
        where ended.id = any(p_ids) and ended.parent_id is not null
    ))
    order by coalesce(parent.depth, 0) desc, parent.id
    for update;
    perform from rolecall.finished_tasks as ended
    where ended.id = any(p_ids) and ended.state in ('failed', 'cancelled')
    order by ended.id
    for update;
end
$$;

-- Makes reopened tasks wait for their open needs again, whether these never finished or were reopened too.
-- raises: RC043 circular needs
-- locks: the needed tasks, children before parents
create or replace function rolecall.await_needs_again(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_id bigint;
begin
    update rolecall.needs as need
    set outcome = null
    where need.task_id = any(p_ids) and need.outcome <> 'completed' and need.on_failure = 'fail'
        and rolecall.is_open(need.needed_id, need.whole_chain);
    perform rolecall.mark_needed(p_ids);
    update rolecall.needs as need
    set outcome = coalesce(rolecall.outcome_of(need.needed_id, need.whole_chain), 'cancelled')
    where need.task_id = any(p_ids) and need.outcome is null
        and not rolecall.is_open(need.needed_id, need.whole_chain);
    update rolecall.tasks as task
    set state = 'blocked', open_needs = open.number
    from (
        select need.task_id, count(*)::int as number
        from rolecall.needs as need
        where need.task_id = any(p_ids) and need.outcome is null
        group by need.task_id
    ) as open
    where task.id = open.task_id;
    for v_id in
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids)
            and (task.state = 'blocked' or (task.parent_id is not null and task.key is not null))
    loop
        perform rolecall.refuse_circle(array[v_id], v_id);
    end loop;
end
$$;
