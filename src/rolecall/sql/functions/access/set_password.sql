-- Gives a person another password; whoever came in with the old one is out, no browser is known any more, and
-- none is locked out.
-- returns: whether there is such a person
-- locks: the people row, its sessions and known_browsers, then the login_attempts rows
-- public: yes
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
    delete from rolecall.known_browsers where person_id = v_id;
    perform rolecall.unlock_person(p_name);
    return v_id is not null;
end
$$;
