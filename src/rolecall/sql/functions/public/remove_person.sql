-- Forgets a person, whose sessions end with that.
-- returns: whether there was one
-- raises: nothing
-- locks: the people row and its sessions
-- notifies: nothing
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
