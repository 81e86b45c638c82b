-- Finds the log lines of a task's attempts, oldest first: the first ones after a line, or the last ones. The
-- filter's fields are attempt and level: lines of that level or above. Several claims can have the same
-- attempt number; the fence distinguishes them.
-- returns: one row per line; its number counts the lines of its claim from 1, also those that are not stored
-- public: yes
create or replace function rolecall.find_log_lines(
    p_id bigint, p_filter jsonb default '{}', p_after_fence int default null, p_after_number int default null,
    p_limit int default 1000, p_last boolean default false
)
returns table (
    attempt int, fence int, number int, at timestamptz, level int, logger text, message text
)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with found as (
        select part.attempt, part.fence, (line.value ->> 0)::int as number,
            to_timestamp((line.value ->> 1)::float8) as at, (line.value ->> 2)::int as level,
            line.value ->> 3 as logger, line.value ->> 4 as message
        from rolecall.task_logs as part
        cross join lateral jsonb_array_elements(part.lines) as line
        where part.task_id = p_id and part.part > 0
            and (p_filter -> 'attempt' is null or part.attempt = (p_filter ->> 'attempt')::int)
            and (p_filter -> 'level' is null or (line.value ->> 2)::int >= (p_filter ->> 'level')::int)
            and (
                p_after_fence is null
                or (part.fence, (line.value ->> 0)::int) > (p_after_fence, p_after_number)
            )
    ),
    chosen as (
        select * from found
        order by case when p_last then -fence else fence end, case when p_last then -number else number end
        limit p_limit
    )
    select * from chosen order by fence, number
$$;
