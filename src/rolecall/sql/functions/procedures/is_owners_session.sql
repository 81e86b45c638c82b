-- Says whether who is logged in may do all that the engine's owner may: else the rights at work are lent for
-- a call, and what the caller names or sets is not to be run with them.
-- returns: true for the owner, his members and superusers
create or replace function rolecall.is_owners_session()
returns boolean
language sql
stable
set search_path = ''
as $$
    select pg_has_role(session_user, current_user, 'member')
$$;
