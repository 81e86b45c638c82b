with reported as (
    select *
    from jsonb_to_recordset(%(tallies)s::jsonb) as tally (
        route_id bigint, successes bigint, failures bigint, recovered boolean, forbidden_with text[], last_error text,
        used_ago double precision, failed_ago double precision
    )
),
judged as (
    select
        reported.*,
        array(
            select distinct profile
            from unnest(
                case when reported.recovered then '{}' else routes.forbidden_with end || reported.forbidden_with
            ) as profile
            order by profile
        ) as profiles
    from storecrawl.routes
    join reported on reported.route_id = routes.id
),
sentenced as (
    select *, %(forbidden_limit)s > 0 and cardinality(profiles) >= %(forbidden_limit)s as is_banned
    from judged
)
update storecrawl.routes
set
    successes = routes.successes + sentenced.successes,
    failures = routes.failures + sentenced.failures,
    forbidden_with = sentenced.profiles,
    last_used_at = greatest(routes.last_used_at, clock_timestamp() - make_interval(secs => sentenced.used_ago)),
    last_error = coalesce(sentenced.last_error, routes.last_error),
    last_error_at = coalesce(clock_timestamp() - make_interval(secs => sentenced.failed_ago), routes.last_error_at),
    active = routes.active and not is_banned,
    disabled_at = case when routes.active and is_banned then clock_timestamp() else routes.disabled_at end,
    disabled_because = case
        when routes.active and is_banned then format(
            '%%s answers 403 in a row, each to another profile: %%s', cardinality(profiles), array_to_string(profiles, ', ')
        )
        else routes.disabled_because
    end
from sentenced
where routes.id = sentenced.route_id
returning routes.id, routes.active
