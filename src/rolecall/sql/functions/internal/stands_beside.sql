-- Says whether a new task may stand beside an open one with the same dedupe_key: because only unclaimed ones stand for it, or
-- because the one that does so belongs to a chain that does not count.
-- returns: true, else null
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.stands_beside(p_dedupe_key text, p_dedupe jsonb)
returns boolean
language sql
volatile
set search_path = ''
as $$
    select true
    where rolecall.dedupe_scope(p_dedupe) = 'pending' or exists (
        select from rolecall.tasks as task
        where task.dedupe_key = p_dedupe_key and task.dedupe_pending is not true
            and task.fence > 0 and task.chain_id = (p_dedupe ->> 'except_chain')::bigint
    )
$$;
