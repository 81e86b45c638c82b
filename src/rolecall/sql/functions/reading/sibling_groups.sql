-- Counts the children of tasks by handler and state. p_since is no later than the first end of one of them.
-- returns: one row for each task, handler and state, in the order of the oldest children: when the first was
-- created and started, when the last finished (null if one has not), and the one that has run longest, with
-- its seconds (null if none has started)
-- public: yes
create or replace function rolecall.sibling_groups(p_parents bigint[], p_since timestamptz)
returns table (
    parent_id bigint, handler text, state rolecall.task_state, number int, created_at timestamptz,
    started_at timestamptz, finished_at timestamptz, slowest_id bigint, slowest_seconds float8
)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with child as (
        select open.parent_id, open.id, open.line_id,
            rolecall.shown_state(open.state, open.key_slot, open.started_at) as state, open.created_at,
            open.started_at, null::timestamptz as finished_at,
            (select rolecall.clock()) - open.started_at as ran
        from rolecall.tasks as open
        where open.parent_id = any(p_parents)
        union all
        select ended.parent_id, ended.id, ended.line_id, ended.state, ended.created_at, ended.started_at,
            ended.finished_at, ended.finished_at - ended.started_at
        from rolecall.finished_tasks as ended
        -- Excludes partitions of future days, which already exist.
        where ended.parent_id = any(p_parents) and ended.finished_at >= p_since
            and ended.finished_at < (select rolecall.clock()) + interval '1 hour'
    ),
    -- By line, because comparing the names of handlers would take most of the time; date_part, because
    -- extract returns a numeric.
    of_line as (
        select parent_id, line_id, state, count(*) as number, min(id) as first_id,
            min(created_at) as created_at, min(started_at) as started_at,
            case when bool_and(finished_at is not null) then max(finished_at) end as finished_at,
            -- The seconds of the slowest one and its id; of several the oldest.
            max(array[coalesce(date_part('epoch', ran), '-infinity'), -id]) as slowest
        from child
        group by parent_id, line_id, state
    )
    select of_line.parent_id, line.handler, of_line.state, sum(of_line.number)::int, min(of_line.created_at),
        min(of_line.started_at),
        case when bool_and(of_line.finished_at is not null) then max(of_line.finished_at) end,
        -(max(of_line.slowest))[2]::bigint, nullif((max(of_line.slowest))[1], '-infinity')
    from of_line
    join rolecall.lines as line on line.id = of_line.line_id
    group by of_line.parent_id, line.handler, of_line.state
    order by min(of_line.first_id)
$$;
