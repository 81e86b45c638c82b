-- Lets a person log in from now on.
-- returns: the id; null where somebody of that name stands already
-- locks: waits for an uncommitted person of that name
-- public: yes
create or replace function rolecall.add_person(p_name text, p_scope rolecall.scope, p_password_hash text)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select rolecall.require_durability();
    insert into rolecall.people (name, scope, password_hash, created_at)
    values (p_name, p_scope, p_password_hash, rolecall.clock())
    on conflict (name) do nothing
    returning id
$$;
