-- Count what became of requests, and judge: a route is blamed when as many subjects as the limit says were forbidden on
-- it in a row, and on no other route; while it is paused, when its probe is. The last route is paused for a minute only.
-- returns: whether each route is active, for how many seconds it is paused still, whether it was blamed just now
with reported as (
    select *
    from jsonb_to_recordset(%(tallies)s::jsonb) as tally (
        route_id bigint, successes bigint, failures bigint, recovered boolean, forbidden_with text[],
        forbidden_about text[], last_error text, used_ago double precision, failed_ago double precision
    )
),
judged as (
    select
        reported.*,
        routes.paused_until is not null and not reported.recovered as is_paused,
        case when reported.recovered then 0 else routes.pauses end as pauses_before,
        array(
            select distinct profile
            from unnest(
                case when reported.recovered then '{}' else routes.forbidden_with end || reported.forbidden_with
            ) as profile
            order by profile
        ) as profiles,
        case
            when routes.paused_until is null or reported.recovered then %(forbidden_limit)s <= (
                select count(*)
                from storecrawl.forbidden_visits as visit
                where visit.route_id = routes.id
                    and visit.last_at > clock_timestamp() - interval '1 hour'
                    and not storecrawl.is_forbidden_elsewhere(routes.id, visit.about)
            )
            else routes.probed_at is not null and exists (
                select
                from unnest(reported.forbidden_about) as about
                where not storecrawl.is_forbidden_elsewhere(routes.id, about)
            )
        end as is_forbidden,
        exists (
            select
            from storecrawl.routes as other
            where other.id <> routes.id
                and other.active
                and (other.paused_until is null or other.paused_until <= clock_timestamp())
        ) as has_others
    from storecrawl.routes
    join reported on reported.route_id = routes.id
),
sentenced as (
    select
        *,
        %(forbidden_limit)s > 0 and cardinality(forbidden_about) > 0 and is_forbidden as is_blamed,
        make_interval(
            secs => case
                when has_others then least(%(pause)s * 2.0 ^ least(pauses_before, 30), %(longest_pause)s)
                else %(pause)s
            end
        ) as pause
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
    pauses = pauses_before + (routes.active and is_blamed)::integer,
    paused_until = case
        when routes.active and is_blamed then clock_timestamp() + pause
        when is_paused then routes.paused_until
    end,
    paused_because = case
        when routes.active and is_blamed and not is_paused then format(
            '%%s different stores in a row were answered 403 on it, and on no other route', %(forbidden_limit)s
        )
        when is_paused then routes.paused_because
    end,
    probed_at = case when is_paused and cardinality(forbidden_about) = 0 then routes.probed_at end
from sentenced
where routes.id = sentenced.route_id
returning
    routes.id, routes.active, extract(epoch from routes.paused_until - clock_timestamp())::double precision,
    routes.active and is_blamed
