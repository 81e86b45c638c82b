-- Finds the open tasks below some tasks: their children, the children of those, and so on.
-- returns: the given ids and those found
create or replace function rolecall.with_open_descendants(p_ids bigint[])
returns bigint[]
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    with recursive tree as (
        select id from unnest(p_ids) as given (id)
        union
        select child.id
        from tree
        cross join lateral (
            select task.id from rolecall.tasks as task where task.parent_id = tree.id offset 0
        ) as child
    )
    select coalesce(array_agg(id), '{}') from tree
$$;
