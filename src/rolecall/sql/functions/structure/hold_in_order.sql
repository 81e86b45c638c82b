-- Locks open tasks, whatever their state, in the order in which everybody does who waits for no key.
-- returns: which of them are open
-- locks: those: first those without children in id order, then parents, the deepest first, in id order
create or replace function rolecall.hold_in_order(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
begin
    return array(
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids)
        order by case when task.open_children is not null then coalesce(task.depth, 0) end desc nulls first,
            task.id
        for update
    );
end
$$;
