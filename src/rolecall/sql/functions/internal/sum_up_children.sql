-- Sums up the ended children that one claim of a task spawned, those of their chains included, on top of what was told before. None of
-- them has ended before the parent was created: the days before that are not looked into.
-- returns: one row: how many failures the parent shares, and the infos as one: numbers add up, else the last child's value stands
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.sum_up_children(p_parent_id bigint, p_fence int, p_created_at timestamptz, p_before jsonb)
returns table (failed bigint, info jsonb)
language plpgsql
stable
set search_path = ''
-- A plan for this very moment leaves out the other days.
set plan_cache_mode = force_custom_plan
as $$
begin
    return query
    with child as materialized (
        select task.id, task.info, task.state <> 'completed' and coalesce(task.on_failure <> 'ignore', true) as shared
        from rolecall.finished_tasks as task
        where task.parent_id = p_parent_id and task.parent_fence = p_fence and task.finished_at >= p_created_at
        union all
        select 0, p_before, false
    )
    select
        (select count(*) from child where shared),
        (
            select jsonb_object_agg(key, case when numbers then to_jsonb(total) else last end)
            from (
                select fact.key, bool_and(jsonb_typeof(fact.value) = 'number') as numbers,
                    sum(case when jsonb_typeof(fact.value) = 'number' then fact.value::numeric end) as total,
                    (array_agg(fact.value order by child.id desc))[1] as last
                from child
                cross join lateral jsonb_each(child.info) as fact
                group by fact.key
            ) as facts
        );
end
$$;
