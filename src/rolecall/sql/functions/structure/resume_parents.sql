-- Decides how parents go on whose last child has ended: with their next step where they have one, else to
-- their end, which is a failure where a child's was one that the parent shares. What the children told adds
-- up beside the parent's own info.
-- returns: one row: the keys and endings of those that ended
-- locks: the caller holds the tasks
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.resume_parents(p_ids bigint[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_failed bigint[];
    v_going_on bigint[];
    v_lines int[];
begin
    if cardinality(p_ids) = 0 then
        return;
    end if;
    with parent as (
        update rolecall.tasks as task
        set children_info = summary.info
        from (
            select given.id, children.* from unnest(p_ids) as given (id)
            join rolecall.tasks as waiting using (id)
            cross join lateral rolecall.sum_up_children(
                waiting.id, waiting.fence, waiting.created_at, waiting.children_info
            ) as children
        ) as summary
        where task.id = summary.id
        returning task.id, task.gathers, task.line_id, summary.failed
    )
    select array_agg(parent.id) filter (where failed > 0),
        array_agg(parent.id) filter (where failed = 0 and gathers),
        array_agg(parent.line_id) filter (where failed = 0 and gathers)
    into v_failed, v_going_on, v_lines
    from parent;
    update rolecall.tasks as task
    set state = 'pending', step = 1, step_number = coalesce(task.step_number, task.step, 0) + 1,
        gathers = null, serial = null, open_children = null,
        attempt = 0, refunds = 0, worker_id = null, claimed_at = null, started_at = null, lease_until = null,
        deadline_at = null
    where task.id = any(v_going_on);
    perform rolecall.wake_lines(v_lines);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', given.id) || case
            when given.id = any(v_failed)
                then '{"state": "failed", "error": "One or more child tasks failed"}'::jsonb
            else '{"state": "completed"}'
        end)
        from unnest(p_ids) as given (id)
        where (given.id = any(v_going_on)) is not true
    ));
end
$$;

-- Sums up the ended children that one claim of a task spawned, those of their chains included, on top of what
-- was told before. None of them has ended before the parent was created: the days before that are not looked
-- into.
-- returns: one row: how many failures the parent shares, and the infos as one: numbers add up, else the last
-- child's value stands
create or replace function rolecall.sum_up_children(
    p_parent_id bigint, p_fence int, p_created_at timestamptz, p_before jsonb
)
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
        select task.id, task.info, task.state <> 'completed'
            and coalesce(task.on_failure <> 'ignore', true) as shared
        from rolecall.finished_tasks as task
        where task.parent_id = p_parent_id and task.parent_fence = p_fence
            and task.finished_at >= p_created_at
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
