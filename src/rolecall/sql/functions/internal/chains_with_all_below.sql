-- Finds chains with those that their tasks have spawned, and so on; and with all that they need, where that is asked for.
-- returns: the chains' ids in order, without those that do not exist
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.chains_with_all_below(p_ids bigint[], p_needed_too boolean)
returns bigint[]
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    with recursive found as (
        select given.id as chain_id
        from unnest(p_ids) as given (id)
        where exists (select from rolecall.tasks_of_chain(given.id))
        union
        select further.chain_id
        from found
        cross join lateral rolecall.tasks_of_chain(found.chain_id) as task
        cross join lateral (
            select child.chain_id from rolecall.tasks as child where child.parent_id = task.id
            union all
            select child.chain_id from rolecall.finished_tasks as child where child.parent_id = task.id
            union all
            select coalesce(
                (select needed.chain_id from rolecall.tasks as needed where needed.id = need.needed_id),
                (select needed.chain_id from rolecall.finished_tasks as needed where needed.id = need.needed_id limit 1)
            )
            from rolecall.needs as need
            where p_needed_too and need.task_id = task.id
        ) as further
        where further.chain_id is not null
    )
    select coalesce(array_agg(chain_id order by chain_id), '{}') from found
$$;
