-- Counts the children of tasks by handler, and selects those that a picture shows individually: all of a
-- handler if there are at most p_few, otherwise three failed and three running ones, or, for unfolded
-- handlers, thirty. Failed ones come first if there are many. p_left is how many may be selected in total.
-- p_since is no later than the first end of one of these children.
-- returns: one row per task and handler, in the order of the tasks and of their oldest children
create or replace function rolecall.phases_of(
    p_parents bigint[], p_since timestamptz, p_few int, p_left int, p_unfolded_parent bigint default null,
    p_unfolded_handler text default null
)
returns table (parent_id bigint, handler text, number int, first_id bigint, states jsonb, named bigint[])
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with child as (
        select parent.n, parent.id as parent_id, line.handler, task.id, task.state,
            parent.id = p_unfolded_parent and line.handler = p_unfolded_handler as unfolded,
            case
                when task.state = 'failed' then 1
                when task.state in ('waiting', 'running') then 2
            end as urgency
        from unnest(p_parents) with ordinality as parent (id, n)
        cross join lateral (
            select open.id, open.line_id,
                rolecall.shown_state(open.state, open.key_slot, open.started_at) as state
            from rolecall.tasks as open
            where open.parent_id = parent.id
            union all
            select ended.id, ended.line_id, ended.state
            from rolecall.finished_tasks as ended
            -- Excludes partitions of future days, which already exist.
            where ended.parent_id = parent.id and ended.finished_at >= p_since
                and ended.finished_at < (select rolecall.clock()) + interval '1 hour'
            offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id
    ),
    numbered as (
        select *, count(*) over phase as number,
            row_number() over (
                phase order by urgency, array_position('{waiting,running,pending,blocked,cancelled}', state),
                id
            ) as place,
            row_number() over (partition by n, handler, urgency order by state desc, id) as place_of_urgency
        from child
        window phase as (partition by n, handler)
    ),
    phase as (
        select n, parent_id, handler, number::int as number, min(id) as first_id,
            coalesce(array_agg(id order by number > p_few and state = 'failed' desc, id) filter (where case
                when number <= p_few then true when unfolded then place <= 30 else urgency is not null
                    and place_of_urgency <= 3
            end), '{}') as named
        from numbered
        group by n, parent_id, handler, number
    )
    select phase.parent_id, phase.handler, phase.number, phase.first_id, counted.states,
        case
            when sum(cardinality(phase.named)) over (order by phase.n, phase.first_id) <= p_left
                then phase.named
            else '{}'
        end
    from phase
    join (
        select n, handler, jsonb_object_agg(state, number) as states
        from (select n, handler, state, count(*) as number from child group by n, handler, state) as of_state
        group by n, handler
    ) as counted using (n, handler)
    order by phase.n, phase.first_id
$$;
