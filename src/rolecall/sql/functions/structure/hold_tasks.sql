-- Locks open tasks in the order that everybody keeps: first those that no key's owner brings back, children
-- before parents, then keys, then what waits for them.
-- locks: tasks that run, wait, are blocked or have no key: first those without children in id order, then
-- parents, the deepest first, in id order; keys rows of the others in key order; then those
create or replace function rolecall.hold_tasks(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_keys text[];
begin
    perform from rolecall.tasks as task
    where task.id = any(p_ids) and (task.state <> 'pending' or task.key is null)
    order by case when task.open_children is not null then coalesce(task.depth, 0) end desc nulls first,
        task.id
    for update;
    -- Whoever frees a key brings a parked row back under the key's lock, and must not find that row locked.
    v_keys := array(
        select task.key from rolecall.tasks as task
        where task.id = any(p_ids) and task.state = 'pending' and task.key is not null
    );
    -- Nothing is parked for a key that has no row yet, nor can what is held here be.
    perform from rolecall.keys as lock where lock.key = any(v_keys) order by lock.key for update;
    perform from rolecall.tasks as task
    where task.id = any(p_ids) and task.state = 'pending'
    order by task.id
    for update;
end
$$;
