-- Returns whether a worker is active: it has not stopped, and its last heartbeat is less than a minute old.
-- A worker sends one every 30 s. A SQL worker (without a host) sends none while it runs a task, and is
-- active for five minutes after its last one.
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.is_active(p_worker rolecall.workers, p_now timestamptz)
returns boolean
language sql
immutable
as $$
    select p_worker.stopped_at is null
        and p_worker.heartbeat_at
        > p_now - case when p_worker.host is null then interval '5 min' else interval '1 min' end
$$;
