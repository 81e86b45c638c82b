-- Merges bins of the history into wider ones: bins of width p_source, and narrower bins for the last wide
-- one, which is not over yet.
-- returns: one row for each bin in which the role has data, or for each of its handlers if p_by_handler; if
-- p_role is null, for each role and for all roles together (role '')
create or replace function rolecall.history_bins(
    p_role text, p_width int, p_source int, p_from timestamptz, p_until timestamptz,
    p_by_handler boolean default false
)
returns setof rolecall.history
language sql
stable
rows 100
set search_path = pg_catalog, pg_temp
-- A generic plan for all times and roles would read the whole history.
set plan_cache_mode = force_custom_plan
as $$
    with part as materialized (
        select event.*, date_bin(make_interval(secs => p_width), event.at, 'epoch') as bin,
            case when p_by_handler then event.handler else '' end as series
        from (select name from rolecall.roles union all select '') as known (name)
        cross join rolecall.history_stretches(p_source, p_from, p_until) as stretch
        -- By role and width: a join would read the whole history.
        cross join lateral (
            select * from rolecall.history as one
            where one.role = known.name and one.width = stretch.width and one.at >= stretch.since
                and one.at < stretch.until
            offset 0
        ) as event
        where p_role is null or known.name = p_role
    ),
    wait as (
        select role, series, bin, array_agg(bucket order by bucket) as buckets,
            array_agg(number order by bucket) as counts
        from (
            select role, series, bin, bucket, sum(number)::int as number
            from part cross join lateral unnest(wait_buckets, wait_counts) as waited (bucket, number)
            group by role, series, bin, bucket
        ) as summed
        group by role, series, bin
    ),
    run as (
        select role, series, bin, array_agg(bucket order by bucket) as buckets,
            array_agg(number order by bucket) as counts
        from (
            select role, series, bin, bucket, sum(number)::int as number
            from part cross join lateral unnest(run_buckets, run_counts) as ran (bucket, number)
            group by role, series, bin, bucket
        ) as summed
        group by role, series, bin
    ),
    total as (
        select role, series, bin, sum(completed)::int as completed, sum(failed)::int as failed,
            sum(cancelled)::int as cancelled,
            sum(retried)::int as retried, sum(samples)::int as samples, sum(ready)::bigint as ready,
            sum(running)::bigint as running,
            max(longest_wait) as longest_wait, max(longest_run) as longest_run
        from part
        group by role, series, bin
    )
    select total.role, total.series, p_width, total.bin, completed, failed, cancelled, retried, samples,
        ready, running, longest_wait, longest_run,
        coalesce(wait.buckets, '{}'), coalesce(wait.counts, '{}'), coalesce(run.buckets, '{}'),
        coalesce(run.counts, '{}')
    from total
    left join wait using (role, series, bin)
    left join run using (role, series, bin)
    order by total.role, total.series, total.bin
$$;

-- Lists the widths of the bins that cover a period: p_source, and narrower ones for the last wide bin,
-- which is not over yet.
-- returns: one row per width, with the period that its bins cover
create or replace function rolecall.history_stretches(
    p_source int, p_from timestamptz, p_until timestamptz
)
returns table (width int, since timestamptz, until timestamptz)
language sql
stable
rows 4
set search_path = pg_catalog, pg_temp
as $$
    select tier.width,
        case
            when tier.width = p_source then p_from
            else greatest(p_from, rolecall.begin_of_bin(tier.wider, p_until))
        end,
        rolecall.begin_of_bin(tier.width, p_until)
    from rolecall.history_tiers() as tier
    where tier.width <= p_source
$$;

-- Lists the widths of the history's bins in seconds, the narrowest first, with the width that each is
-- merged into and how long its bins are kept.
-- returns: one row per width
create or replace function rolecall.history_tiers()
returns table (width int, wider int, kept interval)
language sql
immutable
rows 4
set search_path = pg_catalog, pg_temp
as $$
    values
        (10, 60, interval '2 hours'),
        (60, 600, interval '2 days'),
        (600, 3600, interval '10 days'),
        (3600, null, interval '90 days')
$$;

-- Returns the start of the bin that contains a time.
-- returns: the time
create or replace function rolecall.begin_of_bin(p_width int, p_moment timestamptz)
returns timestamptz
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select date_bin(make_interval(secs => p_width), p_moment, 'epoch')
$$;

-- Lists the lower bounds of the buckets for durations, in seconds: ten per decade, from a millisecond to a
-- month. Bucket 0 is below the first bound.
-- returns: the bounds
create or replace function rolecall.history_bounds()
returns float8[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select array_agg(0.001 * power(10::float8, number / 10.0::float8) order by number)
    from generate_series(0, 94) as number
$$;
