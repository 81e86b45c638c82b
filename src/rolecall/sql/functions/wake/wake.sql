-- Notifies all idle workers of some roles, where nobody knows how many of them have something to do.
-- notifies: rolecall_wake with each role for which an idle worker waits
create or replace function rolecall.wake(p_roles text[])
returns void
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select rolecall.notify('rolecall_wake', role)
    from unnest(p_roles) as role
    where exists (
        select from unnest(array[role, '']) as served (role)
        join rolecall.idle_marks as mark using (role)
        where mark.until > rolecall.clock()
    )
$$;
