-- Says from when on a rescue may take a running task from its worker: after the lease, but not within one lease of the server's
-- start; and what a drain still runs, after its deadline.
-- returns: the moment, if nothing is renewed
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.rescue_from(p_task rolecall.tasks, p_lease interval, p_now timestamptz)
returns timestamptz
language sql
stable
set search_path = ''
as $$
    select greatest(
        p_task.lease_until,
        p_lease + coalesce((
            select epoch.seen_at from rolecall.server_epoch as epoch
            where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.seen_at <= p_now
        ), p_now),
        (
            select p_task.deadline_at from rolecall.procedure_sessions() as session
            where session.task_id = p_task.id and session.is_drain
            limit 1
        )
    )
$$;
