-- Completes a task without a worker, in whatever open state it is; what is open below it is cancelled.
-- returns: completed, finished (it had ended before), missing
-- raises: as end_from_outside
-- locks: as end_from_outside does
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.complete_task(
    p_id bigint, p_result jsonb default null, p_next jsonb default null
)
returns text
language sql
volatile
set search_path = ''
as $$
    select ended.outcome
    from rolecall.end_from_outside(jsonb_build_array(
        jsonb_build_object('id', p_id, 'state', 'completed', 'result', p_result, 'next', p_next)
    )) as ended
$$;
