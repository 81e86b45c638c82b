-- Completes the task that a token stands for; what comes next is the caller's to say, not the token's.
-- returns: the task's id
-- raises: RC004 the token is unknown, used or expired, or its task has ended; and as complete_task does
-- locks: as end_from_outside does; then the task's tokens
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.complete_by_token(
    p_token text, p_result jsonb default null, p_next jsonb default null
)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select rolecall.use_token(
        p_token, jsonb_build_object('state', 'completed', 'result', p_result, 'next', p_next)
    )
$$;
