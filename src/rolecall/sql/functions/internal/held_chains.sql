-- Finds the finished chains that something open hangs on: what open tasks need, whose children are open, and all above those.
-- returns: the chains' ids
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.held_chains()
returns bigint[]
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
    with recursive held as (
        select task.chain_id, task.parent_id
        from (
            select child.parent_id as id from rolecall.tasks as child where child.parent_id is not null
            union
            select need.needed_id from rolecall.needs as need join rolecall.tasks as dependent on dependent.id = need.task_id
        ) as wanted
        join rolecall.finished_tasks as task on task.id = wanted.id
        union
        select task.chain_id, task.parent_id
        from held
        join rolecall.finished_tasks as task on task.id = held.parent_id
    )
    select coalesce(array_agg(distinct chain_id), '{}') from held
$$;
