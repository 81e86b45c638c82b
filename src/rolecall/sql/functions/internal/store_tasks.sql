-- Stores a batch of tasks, each in the chain given at its place, else as the first of its own; an open task with the same
-- handler and dedupe_key stands for the new one.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: RC031 unknown role, RC040 invalid task
-- locks: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.store_tasks(p_tasks jsonb, p_chain_ids bigint[], p_chain_indexes int[])
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_refused bigint[];
    v_n bigint;
    v_twin record;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    select coalesce(inserted.ids, '{}'), inserted.refused
    into ids, v_refused
    from rolecall.insert_tasks(p_tasks, p_chain_ids, p_chain_indexes) as inserted;
    deduplicated := '{}';
    foreach v_n in array coalesce(v_refused, '{}') loop
        select * into v_twin from rolecall.find_or_insert(
            p_tasks -> (v_n - 1)::int, p_chain_ids[v_n], p_chain_indexes[v_n]
        );
        ids[v_n] := v_twin.id;
        if v_twin.stood then
            deduplicated := deduplicated || v_twin.id;
        end if;
    end loop;
    return next;
end
$$;
