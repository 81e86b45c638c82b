-- Raises a typed error from inside an expression, so that a batch is validated in the pass that stores it.
-- returns: never
-- raises: the given SQLSTATE
create or replace function rolecall.refuse(p_code text, p_message text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    raise exception using errcode = p_code, message = p_message;
end
$$;
