-- Deletes chains, unless something of them came, or was claimed, while this call waited for others.
-- returns: one row a deleted chain, with how many tasks it had
-- raises: RC005 an open task that stays needs one of them; RC090 something came or was claimed: undo this and try again
-- locks: the open tasks as hold_trees does; then finished ones; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.try_to_delete_chains(p_ids bigint[], p_cascade boolean)
returns table (chain_id bigint, tasks int)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_held bigint[] := rolecall.hold_trees(rolecall.tasks_of_chains(rolecall.chains_with_all_below(p_ids, p_cascade)));
    v_chains bigint[] := rolecall.chains_with_all_below(p_ids, p_cascade);
    v_ids bigint[] := rolecall.tasks_of_chains(v_chains);
begin
    if exists (select from rolecall.tasks as task where task.id = any(v_ids) and task.id <> all(v_held)) then
        perform rolecall.refuse('RC090', 'a task came while others were waited for');
    end if;
    return query
    select chain.id, (select count(*)::int from rolecall.tasks_of_chain(chain.id)) from unnest(v_chains) as chain (id);
    perform rolecall.refuse_needed_chains(v_ids);
    perform rolecall.forget_tasks(v_ids);
end
$$;
