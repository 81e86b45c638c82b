-- Finds or adds the line of a role, handler and priority; never waits for another transaction that adds the same.
-- returns: the line's id
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.add_line(p_role text, p_handler text, p_priority int)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_id int;
begin
    select min(id) into v_id
    from rolecall.lines
    where role = p_role and handler = p_handler and priority = p_priority;
    if v_id is null then
        insert into rolecall.lines (role, handler, priority)
        values (p_role, p_handler, p_priority)
        returning id into v_id;
    end if;
    return v_id;
end
$$;
