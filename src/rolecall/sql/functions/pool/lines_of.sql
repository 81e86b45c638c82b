-- Lists the lines of a role, of a handler, or of both.
-- returns: their ids; null where neither is given
create or replace function rolecall.lines_of(p_role text, p_handler text)
returns int[]
language sql
stable
set search_path = ''
as $$
    select case when num_nonnulls(p_role, p_handler) > 0 then array(
        select line.id from rolecall.lines as line
        where line.role = coalesce(p_role, line.role) and line.handler = coalesce(p_handler, line.handler)
    ) end
$$;
