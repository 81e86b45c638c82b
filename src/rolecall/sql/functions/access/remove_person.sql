-- Forgets a person, whose sessions end with that.
-- returns: whether there was one
-- locks: the people row and its sessions
-- public: yes
create or replace function rolecall.remove_person(p_name text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    delete from rolecall.people where name = p_name;
    return found;
end
$$;
