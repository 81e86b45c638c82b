-- Ends a session.
-- returns: whether there was one
-- raises: nothing
-- locks: the sessions row
-- notifies: nothing
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
