-- Calls the procedure of a SQL handler, under the search path that is its owner's.
-- returns: the info that it gives back
-- raises: RC041 where the handler has no procedure; whatever the procedure raises
-- locks: what the procedure locks
-- notifies: what the procedure notifies
create or replace function rolecall.call_procedure(p_procedure text, p_payload jsonb, p_info jsonb)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_info jsonb;
begin
    if p_procedure is null then
        perform rolecall.refuse('RC041', 'no procedure of the database is declared as this handler');
    end if;
    perform set_config('search_path', rolecall.path_of_procedures(), true);
    execute 'call ' || p_procedure || '($1, $2)' into v_info using p_payload, p_info;
    return v_info;
end
$$;
