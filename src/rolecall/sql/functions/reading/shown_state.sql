-- Returns the displayed state of an open task: a prefetched task of a sequence is shown as pending.
-- returns: the state
-- search_path: not set, so that it is inlined into the calling statement
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
