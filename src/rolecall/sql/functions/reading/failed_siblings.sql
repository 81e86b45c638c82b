-- Counts the failed and cancelled siblings of a child, so that its handler can check before it continues.
-- returns: the number; 0 for a task without a parent
-- public: yes
create or replace function rolecall.failed_siblings(p_task_id bigint)
returns bigint
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select count(*)
    from rolecall.tasks as child
    join rolecall.finished_tasks as sibling
        on sibling.parent_id = child.parent_id and sibling.parent_fence = child.parent_fence
    where child.id = p_task_id and sibling.state <> 'completed'
$$;
