-- The state in which people see an open task: one that a worker has claimed behind another of its key, and
-- that has not begun, still waits.
-- returns: the state
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.shown_state(
    p_state rolecall.task_state, p_key_slot smallint, p_started_at timestamptz
)
returns rolecall.task_state
language sql
immutable
as $$
    select case
        when p_state = 'running' and p_key_slot < 0 and p_started_at is null then 'pending'
        else p_state
    end
$$;
