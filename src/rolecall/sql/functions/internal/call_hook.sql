-- Calls a hook of a SQL handler, under the search path that is its owner's.
-- returns: nothing
-- raises: whatever the hook raises
-- locks: what the hook locks
-- notifies: what the hook notifies
create or replace function rolecall.call_hook(p_procedure text, p_payload jsonb)
returns void
language plpgsql
volatile
set search_path = ''
set lock_timeout = 0
as $$
begin
    perform set_config('search_path', rolecall.path_of_procedures(), true);
    set local lock_timeout to default;
    execute 'call ' || p_procedure || '($1)' using p_payload;
end
$$;
