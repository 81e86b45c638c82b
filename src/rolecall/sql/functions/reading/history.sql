-- Returns statistics of a role, of one of its handlers, or of all roles, from a time until another (null:
-- until now): finished tasks, their waiting times and durations, and the number of open tasks. The bins
-- have one width and are merged from bins of another (p_source, which divides it). An earlier end must be a
-- multiple of p_source; only bins of p_source are read until then.
-- returns: one row per bin that is not empty, oldest first; `ready` and `running` are averages, null if
-- there are no samples
-- public: yes
create or replace function rolecall.history(
    p_role text, p_width int, p_source int, p_from timestamptz, p_until timestamptz default null,
    p_handler text default null
)
returns table (
    at timestamptz, completed int, failed int, cancelled int, retried int, ready float8, running float8,
    longest_wait float8, longest_run float8, wait_buckets smallint[], wait_counts int[],
    run_buckets smallint[], run_counts int[]
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with bins as materialized (
        select bin.*
        from rolecall.history_until
        cross join lateral (values ('', false), (p_role, p_handler is not null)) as given (role, by_handler)
        cross join lateral rolecall.history_bins(
            given.role, p_width, p_source, p_from, least(p_until, moment), given.by_handler
        ) as bin
        where given.role is not null and (not given.by_handler or bin.handler = p_handler)
    )
    select pool.at, coalesce(own.completed, 0), coalesce(own.failed, 0), coalesce(own.cancelled, 0),
        coalesce(own.retried, 0),
        coalesce(own.ready, 0)::float8 / nullif(pool.samples, 0),
        coalesce(own.running, 0)::float8 / nullif(pool.samples, 0),
        own.longest_wait, own.longest_run, own.wait_buckets, own.wait_counts, own.run_buckets, own.run_counts
    from bins as pool
    left join bins as own on own.at = pool.at and own.role = coalesce(p_role, '')
        and own.handler = coalesce(p_handler, '')
    where pool.role = ''
    order by pool.at
$$;
