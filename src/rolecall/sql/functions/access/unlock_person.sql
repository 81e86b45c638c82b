-- Forgets the failed attempts to log in with a person's name, from wherever: whoever was locked out may try
-- again at once.
-- returns: whether there is such a person
-- locks: the login_attempts rows
-- public: yes
create or replace function rolecall.unlock_person(p_name text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_name constant bytea := sha256(convert_to(p_name, 'UTF8'));
begin
    perform rolecall.require_durability();
    delete from rolecall.login_attempts where digest = v_name or name_digest = v_name;
    return exists (select from rolecall.people where name = p_name);
end
$$;
