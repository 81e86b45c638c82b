-- Fails a task for good without a worker, in whatever open state it is; what is open below it fails with it.
-- returns: failed, finished (it had ended before), missing
-- raises: RC050 wrong isolation level; nothing of end_from_outside that is about what comes next
-- locks: as end_from_outside does
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.fail_task(p_id bigint, p_error text default null)
returns text
language sql
volatile
set search_path = ''
as $$
    select ended.outcome
    from rolecall.end_from_outside(jsonb_build_array(
        jsonb_build_object('id', p_id, 'state', 'failed', 'error', p_error)
    )) as ended
$$;
