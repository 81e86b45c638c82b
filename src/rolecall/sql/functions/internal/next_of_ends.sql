-- Collects what comes next after tasks that are about to end from outside.
-- returns: an array as `store_next` takes it; null where nothing comes next
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.next_of_ends(p_ends jsonb)
returns jsonb
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select jsonb_agg(jsonb_build_object(
        'next', item.given, 'id', task.id, 'chain_id', task.chain_id, 'chain_index', task.chain_index,
        'parent_id', task.parent_id, 'parent_fence', task.parent_fence, 'depth', task.depth, 'priority', line.priority,
        'scheduled_for', task.scheduled_for, 'needed', task.needed, 'on_failure', task.on_failure
    ) order by task.id)
    from (
        select (doc -> 'id')::bigint as id,
            (select jsonb_object_agg(key, value) from jsonb_each(nullif(doc -> 'next', 'null')) where value <> 'null') as given
        from jsonb_array_elements(p_ends) as doc
    ) as item
    join rolecall.tasks as task on task.id = item.id
    join rolecall.lines as line on line.id = task.line_id
    where item.given is not null
$$;
