-- Counts the tasks below a task from the tree itself: only open parents are followed; their children are
-- counted, not listed.
-- returns: one row for each open parent of the tree, the given task first, in any state: the numbers of its
-- children by handler, spawning claim and state, and, while it waits for them, the combined infos of those
-- without children: for each name the sum if all values are numbers, otherwise the last child's value and
-- that child
-- public: yes
create or replace function rolecall.progress(p_id bigint)
returns table (
    id bigint, parent_id bigint, depth int, role text, handler text, state rolecall.task_state, begun boolean,
    counting boolean, serial boolean, info jsonb, children_info jsonb, children jsonb, facts jsonb
)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with task as materialized (
        select * from rolecall.open_tree(p_id)
    ),
    parent as materialized (
        select * from task where is_parent or depth = 0
    ),
    child as materialized (
        select task.parent_id, task.id, task.line_id, task.parent_fence, task.state, task.info,
            task.is_parent, false as continued
        from task
        where task.parent_id is not null
        union all
        select parent.id, ended.id, ended.line_id, ended.parent_fence, ended.state, ended.info, false,
            ended.continued is true
        from parent
        cross join lateral (
            select finished.*
            from rolecall.finished_tasks as finished
            -- No child finishes before its parent is created, or in a future partition.
            where finished.parent_id = parent.id and finished.finished_at >= parent.created_at
                and finished.finished_at < (select rolecall.clock()) + interval '1 hour'
            offset 0
        ) as ended
    ),
    counted as (
        select parent_id, jsonb_agg(jsonb_build_object(
            'handler', line.handler, 'fence', parent_fence, 'state', state, 'number', number, 'first_id',
            first_id
        ) order by first_id) as children
        from (
            select parent_id, line_id, parent_fence, state, count(*) as number, min(id) as first_id
            from child
            where not continued
            group by parent_id, line_id, parent_fence, state
        ) as grouped
        join rolecall.lines as line on line.id = line_id
        group by parent_id
    ),
    reports as (
        select parent_id,
            jsonb_object_agg(key, jsonb_build_object('sum', total, 'last', last, 'last_id', last_id)) as facts
        from (
            select child.parent_id, fact.key, max(child.id) as last_id,
                (array_agg(fact.value order by child.id desc))[1] as last,
                case
                    when bool_and(jsonb_typeof(fact.value) = 'number')
                        then sum(case when jsonb_typeof(fact.value) = 'number' then fact.value::numeric end)
                end as total
            from child
            join parent on parent.id = child.parent_id and parent.fence = child.parent_fence
                and parent.counting
            cross join lateral jsonb_each(child.info) as fact
            where not child.is_parent
            group by child.parent_id, fact.key
        ) as fact
        group by parent_id
    )
    select parent.id, parent.parent_id, parent.depth, line.role, line.handler, parent.state,
        parent.state in ('running', 'waiting') or (parent.is_parent and parent.state = 'pending'),
        parent.counting, parent.serial,
        parent.info, parent.children_info, coalesce(counted.children, '[]'), coalesce(reports.facts, '{}')
    from parent
    join rolecall.lines as line on line.id = parent.line_id
    left join counted on counted.parent_id = parent.id
    left join reports on reports.parent_id = parent.id
    order by parent.depth, parent.id
$$;

-- Finds a task, open or finished, and the open tasks below it. An open task counts as a parent while it
-- waits for children and afterwards, between two steps.
-- returns: one row per task
create or replace function rolecall.open_tree(p_id bigint)
returns table (
    id bigint, parent_id bigint, depth int, line_id int, state rolecall.task_state, info jsonb,
    children_info jsonb, fence int,
    parent_fence int, is_parent boolean, counting boolean, serial boolean, created_at timestamptz
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with recursive open as (
        select task.id, null::bigint as parent_id, 0 as depth, task.line_id,
            rolecall.shown_state(task.state, task.key_slot, task.started_at) as state,
            task.info, task.children_info, task.fence, task.parent_fence, task.step_number,
            task.open_children, task.serial, task.created_at
        from rolecall.tasks as task
        where task.id = p_id
        union all
        select child.id, open.id, open.depth + 1, child.line_id,
            rolecall.shown_state(child.state, child.key_slot, child.started_at),
            child.info, child.children_info, child.fence,
            child.parent_fence, child.step_number, child.open_children, child.serial, child.created_at
        from open
        cross join lateral (
            select task.*
            from rolecall.tasks as task
            where task.parent_id = open.id and open.open_children is not null
            offset 0
        ) as child
    )
    select open.id, open.parent_id, open.depth, open.line_id, open.state, open.info, open.children_info,
        open.fence,
        open.parent_fence, coalesce(open.open_children, open.step_number) is not null,
        open.open_children is not null, coalesce(open.serial, false), open.created_at
    from open
    union all
    (
        select task.id, null, 0, task.line_id, task.state, task.info, null, task.fence, null, true, false,
            false, task.created_at
        from rolecall.finished_tasks as task
        where task.id = p_id and not exists (select from open)
        limit 1
    )
$$;
