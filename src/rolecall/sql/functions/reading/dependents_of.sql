-- Lists the tasks that need a chain, or one of its tasks, whether they still wait for it or not.
-- returns: one row per task, by its id, after a task if that is given, at most p_limit; of several needs of
-- a task, an open one
-- public: yes
create or replace function rolecall.dependents_of(
    p_chain_id bigint, p_after bigint default null, p_limit int default 50
)
returns table (
    task_id bigint, chain_id bigint, role text, handler text, state rolecall.task_state, name text,
    needed_id bigint, whole_chain boolean, outcome rolecall.task_state
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select need.task_id, task.chain_id, task.role, task.handler, task.state, need.name, need.needed_id,
        need.whole_chain, need.outcome
    from (
        select distinct on (need.task_id) need.*
        from rolecall.needs as need
        where need.needed_id in (select part.id from rolecall.tasks_of_chain(p_chain_id) as part)
            and need.task_id > coalesce(p_after, 0)
        order by need.task_id, need.outcome is not null, need.position
        limit p_limit
    ) as need
    cross join lateral (
        select task.chain_id, task.role, task.handler, task.state
        from rolecall.all_tasks as task
        where task.id = need.task_id offset 0
    ) as task
    order by need.task_id
$$;
