-- Returns how long most tasks of a role and handler waited or ran in a period: the 95th percentile. If the
-- handler is null, of all tasks of the role.
-- returns: one row for each role and handler that the history has: the number of tasks, and the seconds
create or replace function rolecall.usual_seconds(
    p_what text, p_roles text[], p_handlers text[], p_from timestamptz, p_until timestamptz
)
returns table (role text, handler text, number bigint, seconds float8)
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    with counted as (
        select given.role, given.handler, part.bucket, sum(part.number)::bigint as number,
            max(bin.longest) as longest
        from unnest(p_roles, p_handlers) as given (role, handler)
        cross join rolecall.history_stretches(3600, p_from, p_until) as stretch
        cross join lateral (
            select
                case p_what when 'wait' then one.wait_buckets else one.run_buckets end as buckets,
                case p_what when 'wait' then one.wait_counts else one.run_counts end as counts,
                case p_what when 'wait' then one.longest_wait else one.longest_run end as longest
            from rolecall.history as one
            where one.role = given.role and one.width = stretch.width and one.at >= stretch.since
                and one.at < stretch.until and (given.handler is null or one.handler = given.handler)
            offset 0
        ) as bin
        cross join lateral unnest(bin.buckets, bin.counts) as part (bucket, number)
        group by 1, 2, 3
    ),
    ranked as (
        select counted.*, sum(counted.number) over line as upto, sum(counted.number) over whole as total,
            max(counted.longest) over whole as longest_of_all
        from counted
        window whole as (partition by counted.role, counted.handler),
            line as (partition by counted.role, counted.handler order by counted.bucket)
    )
    select distinct on (ranked.role, ranked.handler) ranked.role, ranked.handler, ranked.total::bigint,
        least(
            ranked.longest_of_all,
            edge.low + (edge.high - edge.low) * (0.95 * ranked.total - ranked.upto + ranked.number)
                / ranked.number
        )::float8
    from ranked
    cross join (select rolecall.history_bounds() as bounds) as known
    cross join lateral (
        select coalesce(known.bounds[ranked.bucket], 0) as low,
            coalesce(known.bounds[ranked.bucket + 1], known.bounds[ranked.bucket]) as high
    ) as edge
    where ranked.upto >= 0.95 * ranked.total
    order by ranked.role, ranked.handler, ranked.bucket
$$;
