-- Finds or adds the line of a role, handler and priority, with those who may not take its tasks; never waits
-- for another transaction that adds the same.
-- returns: the line's id
create or replace function rolecall.find_or_add_line(
    p_role text, p_handler text, p_priority int, p_never_ahead boolean, p_misfit_for text[]
)
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
    where role = p_role and handler = p_handler and priority = p_priority
        and never_ahead = p_never_ahead and misfit_for = p_misfit_for;
    if v_id is null then
        insert into rolecall.lines (role, handler, priority, never_ahead, misfit_for)
        values (p_role, p_handler, p_priority, p_never_ahead, p_misfit_for)
        returning id into v_id;
    end if;
    return v_id;
end
$$;
