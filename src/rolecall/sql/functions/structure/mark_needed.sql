-- Locks and marks what some tasks need and what is still open: tasks, and the open end of chains.
-- returns: which are open
-- locks: those, children before parents, in id order
create or replace function rolecall.mark_needed(p_task_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_ids bigint[] := array(
        select needed_id from rolecall.needs where task_id = any(p_task_ids) and outcome is null
    );
    v_chains bigint[] := array(
        select needed_id
        from rolecall.needs
        where task_id = any(p_task_ids) and outcome is null and whole_chain
    );
    v_held bigint[];
begin
    loop
        v_held := rolecall.hold_in_order(v_ids || array(
            select link.id
            from rolecall.tasks as link
            where link.chain_id = any(v_chains) and link.chain_index > 0
        ));
        -- A chain may have gone on while its last link was waited for.
        exit when not exists (
            select from rolecall.tasks as link
            where link.chain_id = any(v_chains) and link.chain_index > 0 and link.id <> all(v_held)
        );
    end loop;
    update rolecall.tasks as task set needed = true where task.id = any(v_held) and task.needed is not true;
    return v_held;
end
$$;
