-- Lists the tasks of a chain, open and finished.
-- returns: their ids; nothing where the id is not that of a chain's first task
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.tasks_of_chain(p_chain_id bigint)
returns table (id bigint)
language sql
stable
as $$
    select task.id from rolecall.tasks as task where task.id = p_chain_id and task.chain_index = 0
    union all
    select task.id from rolecall.tasks as task where task.chain_id = p_chain_id and task.chain_index > 0
    union all
    select task.id from rolecall.finished_tasks as task where task.id = p_chain_id and task.chain_index = 0
    union all
    select task.id
    from rolecall.finished_tasks as task
    where task.chain_id = p_chain_id and task.chain_index > 0
$$;
