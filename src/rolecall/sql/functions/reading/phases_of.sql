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
    with child as materialized (
        select parent.n, task.id, task.line_id, task.state
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
    ),
    -- By line, because comparing the names of handlers would take most of the time.
    of_line as (
        select n, line_id, state, count(*) as number, min(id) as first_id
        from child
        group by n, line_id, state
    ),
    of_state as (
        select of_line.n, line.handler, of_line.state, sum(of_line.number)::int as number,
            min(of_line.first_id) as first_id, array_agg(of_line.line_id) as line_ids
        from of_line
        join rolecall.lines as line on line.id = of_line.line_id
        group by of_line.n, line.handler, of_line.state
    ),
    phase as (
        select n, handler, sum(number)::int as number, min(first_id) as first_id,
            jsonb_object_agg(state, number) as states,
            (p_parents[n] = p_unfolded_parent and handler = p_unfolded_handler) is true as unfolded
        from of_state
        group by n, handler
    ),
    candidate as (
        select phase.first_id, phase.number, phase.unfolded, child.id, child.state, case
            when child.state = 'failed' then 1
            when child.state in ('waiting', 'running') then 2
        end as urgency
        from phase
        join (
            select distinct n, handler, unnest(line_ids) as line_id from of_state
        ) as line using (n, handler)
        join child using (n, line_id)
        where phase.number <= p_few or phase.unfolded or child.state in ('failed', 'waiting', 'running')
    ),
    ranked as (
        select *,
            row_number() over (
                partition by first_id
                order by case when unfolded then urgency end, case
                    when unfolded
                        then array_position('{waiting,running,pending,blocked,cancelled}', state)
                end, id
            ) as place,
            row_number() over (partition by first_id, urgency order by state desc, id) as place_of_urgency
        from candidate
    ),
    chosen as (
        select first_id, array_agg(id order by number > p_few and state = 'failed' desc, id) as named
        from ranked
        where case
            when number <= p_few then true when unfolded then place <= 30 else place_of_urgency <= 3
        end
        group by first_id
    )
    select p_parents[phase.n], phase.handler, phase.number, phase.first_id, phase.states,
        case
            when sum(coalesce(cardinality(chosen.named), 0)) over (order by phase.n, phase.first_id) <= p_left
                then coalesce(chosen.named, '{}')
            else '{}'
        end
    from phase
    left join chosen using (first_id)
    order by phase.n, phase.first_id
$$;
