-- Brings back, for keys that got room, the best parked tasks of each role and handler, as many as there is
-- room for: keys are global, and what no worker can run must not keep the others waiting.
-- returns: those that are back
-- locks: keys rows in key order, waiting; then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.unpark_heads(p_keys text[])
returns bigint[]
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_wanted text[];
    v_heads bigint[];
    v_lines int[];
begin
    if p_keys is null then
        return '{}';
    end if;
    perform from rolecall.keys where key = any(p_keys) order by key for update;
    -- Statements of their own: they see what was parked before the locks were had.
    v_wanted := array(
        select wanted.key from unnest(p_keys) as wanted (key)
        where exists (
            select from rolecall.tasks as task where task.key = wanted.key and task.state = 'pending' offset 0
        )
    );
    if v_wanted = '{}' then
        return '{}';
    end if;
    select array_agg(head.id order by head.id), array_agg(head.line_id) into v_heads, v_lines
    from rolecall.parked_heads(v_wanted) as head;
    if v_heads is null then
        return '{}';
    end if;
    update rolecall.tasks set parked = false where id = any(v_heads) and state = 'pending';
    perform rolecall.wake_lines(v_lines);
    return v_heads;
end
$$;
