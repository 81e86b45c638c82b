-- Counts what has finished at a moment or later, by the index of summaries: it leads to the last pages of the day.
-- returns: one row a line and state
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.counts_since(p_moment timestamptz)
returns table (line_id int, state rolecall.task_state, number bigint)
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select finished.line_id, finished.state, count(*)
    from rolecall.finished_tasks as finished
    where finished.finished_at >= p_moment
    group by finished.line_id, finished.state
$$;
