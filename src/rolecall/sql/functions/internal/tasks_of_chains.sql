-- Lists the tasks of chains, open and finished.
-- returns: their ids
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.tasks_of_chains(p_chain_ids bigint[])
returns bigint[]
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select array(select task.id from unnest(p_chain_ids) as chain (id) cross join lateral rolecall.tasks_of_chain(chain.id) as task)
$$;
