-- Refuses a task whose dedupe_key must be new, and says which task has it.
-- returns: never
-- raises: RC045, with the standing task's id as the detail
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.refuse_twin(p_n bigint, p_dedupe_key text, p_id bigint)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    raise exception using errcode = 'RC045', detail = p_id::text,
        message = format('task %s: task %s has the dedupe_key %L already', p_n - 1, p_id, p_dedupe_key);
end
$$;
