-- Notifies those roles for which an idle worker waits: a NOTIFY takes a lock at commit, so nobody else pays for it.
-- returns: nothing
-- raises: nothing
-- locks: nothing
-- notifies: rolecall_wake with the role
create or replace function rolecall.wake(p_roles text[])
returns void
language sql
volatile
set search_path = ''
as $$
    select pg_notify('rolecall_wake', role)
    from unnest(p_roles) as role
    where exists (
        select
        from rolecall.workers as worker
        where worker.idle
            and (worker.roles = '{}' or role = any(worker.roles))
            and worker.heartbeat_at > rolecall.clock() - interval '5 min'
    )
$$;
