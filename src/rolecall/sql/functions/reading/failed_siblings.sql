-- Counts the siblings of a child that have failed or were cancelled: it may want to know before it goes on.
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
