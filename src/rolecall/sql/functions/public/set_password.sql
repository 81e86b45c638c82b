-- Gives a person another password; whoever came in with the old one is out.
-- returns: whether there is such a person
-- raises: nothing
-- locks: the people row and its sessions
-- notifies: nothing
create or replace function rolecall.set_password(p_name text, p_password_hash text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_id bigint;
begin
    perform rolecall.require_durability();
    update rolecall.people set password_hash = p_password_hash where name = p_name returning id into v_id;
    delete from rolecall.sessions where person_id = v_id;
    return v_id is not null;
end
$$;
