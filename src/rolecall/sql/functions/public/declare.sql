-- Makes roles and handlers known, or changes what is said of them; a setting that is not said keeps its value.
-- returns: nothing
-- raises: RC041 invalid declaration
-- locks: the roles and handlers that change, in name order
-- notifies: rolecall_handlers, where a SQL handler changed
create or replace function rolecall.declare(p_roles jsonb, p_handlers jsonb default '[]')
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.check_declaration(p_roles || p_handlers);
    perform rolecall.check_procedures(p_handlers);
    -- A role that only a handler names gets the defaults.
    insert into rolecall.roles (name)
    select distinct coalesce(said.role, said.name) as role from jsonb_to_recordset(p_handlers) as said (name text, role text)
    where not exists (select from rolecall.roles where roles.name = coalesce(said.role, said.name))
    order by role
    on conflict do nothing;
    perform rolecall.declare_role(said) from jsonb_array_elements(p_roles) as said order by said ->> 'name';
    perform rolecall.declare_handler(said) from jsonb_array_elements(p_handlers) as said order by said ->> 'name';
end
$$;
