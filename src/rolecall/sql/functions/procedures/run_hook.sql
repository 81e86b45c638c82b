-- Runs a hook of a task; its error undoes what it did, is told as a warning, and harms nothing else.
-- locks: what the hook locks
-- notifies: what the hook notifies
create or replace function rolecall.run_hook(p_id bigint, p_procedure text, p_payload jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_current text := coalesce(current_setting('rolecall.task', true), '');
begin
    perform set_config('rolecall.task', p_id::text, true);
    perform rolecall.call_hook(p_procedure, p_payload);
    perform set_config('rolecall.task', v_current, true);
exception when others or assert_failure then
    raise warning 'hook % of task % failed: %', p_procedure, p_id, sqlerrm;
end
$$;

-- Calls a hook of a SQL handler, under the search path that is its owner's.
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
