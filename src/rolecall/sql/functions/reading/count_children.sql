-- Counts the children of a task by state, those of all its runs.
-- returns: one row per state
-- public: yes
create or replace function rolecall.count_children(p_parent_id bigint)
returns table (state rolecall.task_state, number bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select child.state, count(*)
    from (
        select rolecall.shown_state(state, key_slot, started_at) as state
        from rolecall.tasks
        where parent_id = p_parent_id
        union all
        select state from rolecall.finished_tasks where parent_id = p_parent_id
    ) as child
    group by child.state
    order by child.state
$$;
