-- Finds the task that stands for this one, and lets its dedupe mode decide; or stores this one when none does any more.
-- returns: the id, whether it already stood, and what it needs, as `link_needs` takes it
-- raises: RC031 unknown role, RC040 invalid task or payloads that cannot be merged, RC045 the dedupe_key is to be new
-- locks: the dedupe key, waiting for an uncommitted task with the same one; what `hold_tasks` locks of a task to change
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.find_or_insert(p_task jsonb, p_n bigint, p_place rolecall.place)
returns table (id bigint, stood boolean, needy jsonb)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_dedupe_key text := rolecall.full_dedupe_key(p_task);
    v_dedupe jsonb := nullif(p_task -> 'dedupe', 'null');
    v_mode text := coalesce(v_dedupe ->> 'mode', 'keep');
    v_inserted record;
begin
    -- Each turn of the loop is decided by another session's commit in between; it ends with the first quiet moment.
    loop
        id := rolecall.find_twin(v_dedupe_key, v_dedupe, p_place);
        stood := id is not null;
        if not stood then
            select * into v_inserted from rolecall.insert_tasks(jsonb_build_array(p_task), array[p_place], '{}');
            id := v_inserted.ids[1];
            needy := v_inserted.needy;
            exit when v_inserted.refused is null;
        elsif v_mode = 'error' then
            perform rolecall.refuse_twin(p_n, p_task ->> 'dedupe_key', id);
        else
            exit when case v_mode when 'keep' then rolecall.keep_twin(id, v_dedupe) else rolecall.refresh_twin(id, p_task, p_place) end;
        end if;
    end loop;
    return next;
end
$$;
