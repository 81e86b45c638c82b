-- Brings back, for keys that got room, the best parked task of each role and handler: keys are global, and what no worker
-- can run must not keep the others waiting.
-- returns: nothing
-- raises: nothing
-- locks: keys rows in key order, waiting; then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.free_keys(p_keys text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_heads bigint[];
    v_roles text[];
begin
    if p_keys is null then
        return;
    end if;
    perform from rolecall.keys where key = any(p_keys) order by key for update;
    -- A statement of its own: it sees what was parked before the locks were had.
    with head as (
        select distinct on (wanted.key, line.role, line.handler) parked.id, line.role
        from unnest(p_keys) as wanted (key)
        cross join rolecall.lines as line
        cross join lateral (
            select task.id, task.scheduled_for
            from rolecall.tasks as task
            where task.key = wanted.key and task.line_id = line.id and task.state = 'pending' and task.parked
            order by task.scheduled_for, task.id
            limit 1
        ) as parked
        where exists (
            select from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending' and task.parked
        )
        order by wanted.key, line.role, line.handler, line.priority desc, parked.scheduled_for, parked.id
    )
    select array_agg(head.id order by head.id), array_agg(distinct head.role) into v_heads, v_roles from head;
    update rolecall.tasks set parked = false where id = any(v_heads) and state = 'pending';
    perform rolecall.wake(v_roles);
end
$$;
