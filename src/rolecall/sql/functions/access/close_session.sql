-- Ends a session.
-- returns: whether there was one
-- locks: the sessions row
-- public: yes
create or replace function rolecall.close_session(p_digest bytea)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    delete from rolecall.sessions where digest = p_digest;
    return found;
end
$$;
