-- Forgets what nobody needs: whole days of finished tasks and events past every role's retention, single finished tasks past
-- their role's, keys that nobody wants, workers that are long gone.
-- returns: one row a kind, with the number
-- raises: nothing
-- locks: the partitioned tables, for each dropped partition; rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.prune()
returns table (what text, number bigint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Bounds one call's work and WAL; the next call goes on.
    v_bound constant int := 5000;
    v_now timestamptz := rolecall.clock();
    v_oldest timestamptz := v_now - coalesce(
        (select max(greatest(keep_completed, keep_failed)) from rolecall.roles), interval '30 days'
    );
    -- Whatever finished after this is wanted by every role: without this bound, each call would read the whole history.
    v_youngest timestamptz := v_now - (select min(least(keep_completed, keep_failed)) from rolecall.roles);
begin
    return query select 'partitions', rolecall.drop_partitions((v_oldest at time zone 'utc')::date)::bigint;
    delete from rolecall.finished_tasks as finished
    where finished.finished_at < v_youngest and (finished.id, finished.finished_at) in (
        select old.id, old.finished_at
        from rolecall.finished_tasks as old
        join rolecall.lines as line on line.id = old.line_id
        join rolecall.roles as role on role.name = line.role
        where old.finished_at < v_youngest
            and old.finished_at < v_now - case old.state when 'completed' then role.keep_completed else role.keep_failed end
        limit v_bound
    );
    get diagnostics number = row_count;
    what := 'finished_tasks';
    return next;
    -- Only the net is read row by row: events of days with a partition go with it.
    delete from rolecall.task_events_default
    where ctid = any(array(select old.ctid from rolecall.task_events_default as old where old.at < v_oldest limit v_bound));
    get diagnostics number = row_count;
    what := 'task_events';
    return next;
    delete from rolecall.keys
    where key = any(array(
        select idle.key from rolecall.keys as idle
        where idle.capacity = 1 and not exists (select from rolecall.tasks where tasks.key = idle.key)
        limit v_bound
        for update skip locked
    ));
    get diagnostics number = row_count;
    what := 'keys';
    return next;
    delete from rolecall.workers where coalesce(stopped_at, heartbeat_at) < v_now - interval '1 day';
    get diagnostics number = row_count;
    what := 'workers';
    return next;
end
$$;
