-- Finds the open task that has this one's dedupe_key, or stores this one when that has just finished.
-- returns: the id, and whether it already stood
-- raises: RC031 unknown role, RC040 invalid task
-- locks: the dedupe key; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.find_or_insert(p_task jsonb, p_chain_id bigint, p_chain_index int)
returns table (id bigint, stood boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_dedupe_key text := coalesce(p_task ->> 'handler', p_task ->> 'role') || '/' || (p_task ->> 'dedupe_key');
    v_inserted record;
begin
    -- Each turn of the loop is decided by another session's commit in between; it ends with the first quiet moment.
    loop
        select task.id, true into id, stood from rolecall.tasks as task where task.dedupe_key = v_dedupe_key;
        exit when found;
        select * into v_inserted from rolecall.insert_tasks(jsonb_build_array(p_task), array[p_chain_id], array[p_chain_index]);
        id := v_inserted.ids[1];
        stood := false;
        exit when v_inserted.refused is null;
    end loop;
    return next;
end
$$;
