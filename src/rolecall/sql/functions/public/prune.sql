-- Forgets what nobody needs: whole days of finished tasks and events past every role's retention, single finished tasks past
-- their role's, keys that nobody wants, tokens that open nothing, old bins of the history, schedules' old runs, answers older than a
-- day, workers that are long gone, API keys and sessions that let nobody in. What belongs to a chain or a tree that is open, or that
-- something open needs, stays, however old it is.
-- returns: one row a kind, with the number
-- raises: nothing
-- locks: rows; then the partitioned tables, for each dropped partition
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
    v_held bigint[] := rolecall.held_chains();
begin
    return query select 'finished_tasks', rolecall.prune_finished_tasks(v_held, v_now, v_bound);
    -- Only the net is read row by row: events of days with a partition go with it.
    delete from rolecall.task_events_default
    where ctid = any(array(select old.ctid from rolecall.task_events_default as old where old.at < v_oldest limit v_bound));
    get diagnostics number = row_count;
    what := 'task_events';
    return next;
    delete from rolecall.keys
    where key = any(array(
        select idle.key from rolecall.keys as idle
        where num_nonnulls(idle.capacity, idle.declared) = 0 and not exists (select from rolecall.tasks where tasks.key = idle.key)
        limit v_bound
        for update skip locked
    ));
    get diagnostics number = row_count;
    what := 'keys';
    return next;
    delete from rolecall.task_tokens
    where digest = any(array(
        select old.digest from rolecall.task_tokens as old
        where old.expires_at < v_now or not exists (select from rolecall.tasks where tasks.id = old.task_id)
        limit v_bound
    ));
    get diagnostics number = row_count;
    what := 'task_tokens';
    return next;
    return query select 'history', rolecall.prune_history(v_now);
    return query select 'schedule_runs', rolecall.prune_schedule_runs(v_now, v_bound);
    delete from rolecall.requests
    where ctid = any(array(
        select old.ctid from rolecall.requests as old where old.answered_at < v_now - interval '1 day' limit v_bound
    ));
    get diagnostics number = row_count;
    what := 'requests';
    return next;
    delete from rolecall.workers where coalesce(stopped_at, heartbeat_at) < v_now - interval '1 day';
    get diagnostics number = row_count;
    what := 'workers';
    return next;
    return query select pruned.what, pruned.number from rolecall.prune_access(v_now, v_bound) as pruned;
    -- Last, as the lock that this takes lasts until the commit, and nobody can finish a task meanwhile.
    return query select 'partitions', rolecall.drop_partitions((v_oldest at time zone 'utc')::date, v_held, v_now)::bigint;
end
$$;
