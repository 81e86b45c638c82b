-- Ends the pauses whose time is up. Claims heed that time by themselves; this tells people, and workers that
-- sleep.
-- returns: one row a role that goes on: when it was paused, and by whom
-- locks: the roles rows, skipping locked ones
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.end_pauses()
returns table (role text, paused_at timestamptz, paused_for interval, paused_by text)
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
    for role, paused_at, paused_for, paused_by in
        select ended.name, ended.paused_at, ended.paused_until - ended.paused_at, ended.paused_by
        from rolecall.roles as ended
        where ended.paused_until <= rolecall.clock()
        order by ended.name
        for update skip locked
    loop
        update rolecall.roles as ended set paused_at = null, paused_until = null,
        paused_by = null where ended.name = role;
        perform rolecall.wake(array[role]);
        return next;
    end loop;
end
$$;
