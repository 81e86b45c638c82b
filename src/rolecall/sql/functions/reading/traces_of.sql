-- Lists the traces that claimed tasks belong to: each task's own, and those of its origin and of tasks that
-- it waited for. Called only by workers with tracing enabled.
-- returns: one row per stored trace: the relation is own, origin, parent, need, or child (of a task that
-- continues after its children); at most 32 needs and children per task
-- public: yes
create or replace function rolecall.traces_of(p_ids bigint[])
returns table (task_id bigint, relation text, trace_context text)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with given as materialized (
        select task.id, task.origin_id, task.parent_id, task.step_number is not null as goes_on,
            task.trace_context
        from rolecall.tasks as task
        where task.id = any(p_ids)
    ),
    related as (
        select given.id, 'origin' as relation, given.origin_id as other_id from given
        where given.origin_id is not null
        union all
        select given.id, 'parent', given.parent_id from given where given.parent_id is not null
        union all
        select given.id, 'need', need.needed_id
        from given
        cross join lateral (
            select one.needed_id from rolecall.needs as one
            where one.task_id = given.id
            order by one.position limit 32
        ) as need
        union all
        select given.id, 'child', child.id
        from given
        cross join lateral rolecall.children_in_order(given.id, null, 32) as child (id)
        where given.goes_on
    )
    select given.id, 'own', given.trace_context from given where given.trace_context is not null
    union all
    select related.id, related.relation, other.trace_context
    from related
    cross join lateral (
        select task.trace_context from rolecall.tasks as task where task.id = related.other_id
        union all
        select task.trace_context from rolecall.finished_tasks as task where task.id = related.other_id
        limit 1
    ) as other
    where other.trace_context is not null
$$;
