-- Lists the open tasks with a key, whatever they wait for: each way of having one has its own index.
-- returns: their ids
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.open_tasks_with_key(p_key text)
returns bigint[]
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select array(
        select task.id from rolecall.tasks as task where task.key = p_key and task.state = 'pending'
        union
        select task.id from rolecall.tasks as task where task.key = p_key and task.key_slot is not null
        union
        select task.id from rolecall.tasks as task where task.key = p_key and task.state = 'blocked'
    )
$$;
