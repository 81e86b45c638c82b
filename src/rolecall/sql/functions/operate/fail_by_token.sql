-- Fails the task that a token stands for.
-- returns: the task's id
-- raises: RC004 the token is unknown, used or expired, or its task has ended; RC050 wrong isolation level;
-- nothing of use_token that is about what comes next
-- locks: as end_from_outside does; then the task's tokens
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.fail_by_token(p_token text, p_error text default null)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select rolecall.use_token(p_token, jsonb_build_object('state', 'failed', 'error', p_error))
$$;
