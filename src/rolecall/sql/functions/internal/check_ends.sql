-- Insists that what ends tasks from outside says a state that ends one, and brings along only what such an end can.
-- returns: nothing
-- raises: RC042 another state; something next where the task does not complete; children, for which no step is left
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.check_ends(p_ends jsonb)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
    v_problem text;
begin
    select case
        when item.state is null or item.state not in ('completed', 'failed')
            then format('task %s cannot end from outside as %L: completed or failed', item.id, item.state)
        when item.state = 'failed' then format('task %s fails: nothing comes next', item.id)
        else format('task %s ends: it can have no more children', item.id)
    end
    into v_problem
    from jsonb_to_recordset(p_ends) as item (id bigint, state text, next jsonb)
    where item.state is null or item.state not in ('completed', 'failed')
        or (item.next is not null and (item.state = 'failed' or nullif(item.next -> 'children', 'null') is not null))
    limit 1;
    if found then
        perform rolecall.refuse('RC042', v_problem);
    end if;
end
$$;
