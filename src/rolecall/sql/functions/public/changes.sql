-- Tells which tasks changed since a moment, told by what their rows and events say: created, claimed, started, let go, waiting,
-- brought back or ended; and whose children or needs those are. Only what the indexes of the engine lead to is read. Without a
-- moment it only tells the horizon.
-- returns: one row a changed task, at most one more than the limit, each with the horizon: the time, the last id given out, the
--          snapshot, and the transactions that write (a snapshot names only those that are older than the last to end); at least one row
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.changes(p_since timestamptz, p_after_id bigint, p_limit int)
returns table (
    at timestamptz, last_id bigint, snapshot pg_snapshot, writing xid[],
    id bigint, parent_id bigint, role text, state rolecall.task_state, version text
)
language sql
stable
set search_path = ''
as $$
    select rolecall.clock(), case when drawn.is_called then drawn.last_value else 0 end, pg_current_snapshot(),
        array(select session.backend_xid from pg_stat_activity as session where session.backend_xid is not null),
        task.id, task.parent_id, task.role, task.state, task.version
    from rolecall.tasks_id_seq as drawn
    left join rolecall.changed_tasks(p_since, p_after_id, p_limit) as task on true
$$;
