-- Deletes a task that is the whole of its chain, with the tree below it and all that is stored about it. One
-- that is a part of a longer chain stays, as that chain's status and output would become another's.
-- returns: how many tasks are gone: it, and those below it
-- raises: RC002 no such task; RC005 an open task that stays needs it, or waits for it as its child; RC007 its
-- chain is longer; RC050 wrong isolation level
-- locks: as delete_chains does
-- notifies: as delete_chains does
-- public: yes
create or replace function rolecall.delete_task(p_id bigint)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_chain bigint := (select task.chain_id from rolecall.all_tasks as task where task.id = p_id);
    v_length int;
    v_gone int;
begin
    if v_chain is null then
        raise exception using errcode = 'RC002', detail = p_id::text,
            message = format('there is no task %s', p_id);
    end if;
    -- Counted by the deletion itself, under its locks: a chain may go on until then. The error undoes it.
    select sum(gone.tasks), max(gone.tasks) filter (where gone.chain_id = v_chain) into v_gone, v_length
    from rolecall.delete_chains(array[v_chain]) as gone;
    if v_length > 1 then
        raise exception using errcode = 'RC007', detail = format('%s %s', v_chain, p_id),
            message = format(
                'task %s is one of the %s tasks of chain %s: delete the chain', p_id, v_length, v_chain
            );
    end if;
    return coalesce(v_gone, 0);
end
$$;
