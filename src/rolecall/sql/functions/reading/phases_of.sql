-- Counts the children of several tasks by handler, and names those that a picture shows one by one: up to
-- p_few of a handler all of them, of more than that three that failed and three that are under way, of those
-- to be unfolded thirty, failed ones first. Where they are many, those that failed stand first. p_left is how
-- many may be named in all; p_since is not after the first of these children ended.
-- returns: one row a task and handler, in the order of the tasks and of their oldest children
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
            -- None ends in days to come, which have partitions already.
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
