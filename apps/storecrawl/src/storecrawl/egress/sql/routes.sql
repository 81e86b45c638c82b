-- name: list_routes
select
    id, protocol::text, host, port, username, password is not null or password_env is not null as has_password, city, state, country, timezone, active,
    disabled_at, disabled_because, paused_until, paused_because, successes, failures,
    failed_in_a_row, forbidden_with, last_used_at, last_error, last_error_at, added_at
from storecrawl.routes
where %(id)s::bigint is null or id = %(id)s
order by id


-- name: find_route
select id, protocol::text, host, port, username, password, password_env, city, state, country, timezone, forbidden_with
from storecrawl.routes
where id = %(id)s


-- name: add_route
insert into storecrawl.routes
    (protocol, host, port, username, password, password_env, city, state, country, timezone)
values (
    %(protocol)s, %(host)s, %(port)s, %(username)s, %(password)s, %(password_env)s, %(city)s, %(state)s, %(country)s,
    %(timezone)s
)
on conflict do nothing
returning id


-- name: ensure_direct
insert into storecrawl.routes as known (protocol)
values ('direct')
on conflict (protocol, coalesce(host, ''), coalesce(port, 0), coalesce(username, '')) do update
set active = true, disabled_at = null, disabled_because = null, forbidden_with = '{}'
where not known.active


-- name: enable_route
-- Enable a route, and forget why it was disabled or paused.
with forgotten as (
    delete from storecrawl.forbidden_visits
    where route_id = %(id)s
)
update storecrawl.routes
set
    active = true, disabled_at = null, disabled_because = null, forbidden_with = '{}',
    paused_until = null, paused_because = null, pauses = 0, probed_at = null
where id = %(id)s
returning id


-- name: disable_route
update storecrawl.routes
set
    active = false,
    disabled_at = coalesce(disabled_at, clock_timestamp()),
    disabled_because = case when active then %(reason)s else disabled_because end,
    paused_until = null,
    paused_because = null,
    pauses = 0,
    probed_at = null
where id = %(id)s
returning id


-- name: remove_route
delete from storecrawl.routes
where id = %(id)s
returning id


-- name: load_routes
select
    id, protocol::text, host, port, username, password, password_env, city, state, country, timezone, forbidden_with,
    extract(epoch from paused_until - clock_timestamp())::double precision as paused_for
from storecrawl.routes
where active
order by id


-- name: lock_routes
-- Lock routes in the order of their ids: several workers report on the same ones and must not deadlock.
select id
from storecrawl.routes
where id = any(%(ids)s)
order by id
for update


-- name: forget_forbidden
-- Delete earlier forbidden responses of these routes after a good response: they are no evidence any more.
delete from storecrawl.forbidden_visits
where route_id = any(%(recovered)s)


-- name: note_forbidden
insert into storecrawl.forbidden_visits as known (route_id, about)
select route.id, tally.about
from jsonb_to_recordset(%(forbidden)s::jsonb) as tally (route_id bigint, about text)
join storecrawl.routes as route on route.id = tally.route_id
order by route.id, tally.about
on conflict (route_id, about) do update
set last_at = clock_timestamp()


-- name: report_uses
-- Count the outcomes of requests, and pause routes. A route is blamed if as many subjects as the limit were
-- forbidden on it in a row and on no other route, or, while it is paused, if its probe was forbidden. The
-- last
-- route is paused for a minute only.
-- returns: whether each route is active, for how many more seconds it is paused, whether it was just blamed
with reported as (
    select *
    from jsonb_to_recordset(%(counters)s::jsonb) as tally (
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
    failed_in_a_row = sentenced.failures + case when sentenced.successes > 0 then 0 else routes.failed_in_a_row end,
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


-- name: pardon_stores
-- Unblock stores forbidden on a blamed route that were never blocked before.
delete from storecrawl.blocked_stores as blocked
using storecrawl.stores as store, storecrawl.forbidden_visits as visit
where store.id = blocked.store_id
    and visit.about = store.platform_store_id
    and visit.route_id = any(%(blamed)s)
    and blocked.times = 1


-- name: probe_route
-- After a pause, the first caller probes the route; for the others the pause continues.
-- returns: whether the caller probes, and the length of the pause in seconds, null if it is over
with route as (
    -- The lock makes simultaneous callers see the update of the first one.
    select id, paused_until
    from storecrawl.routes
    where id = %(id)s
    for update
),
probing as (
    update storecrawl.routes
    set paused_until = clock_timestamp() + make_interval(secs => %(pause)s), probed_at = clock_timestamp()
    from route
    where routes.id = route.id
        and route.paused_until <= clock_timestamp()
    returning routes.id
)
select
    exists (select from probing),
    extract(epoch from paused_until - clock_timestamp())::double precision
from route


-- name: take_turns
-- Reserve the next turns of a host, one gap apart.
insert into storecrawl.host_turns as known (host, free_at)
values (%(host)s, clock_timestamp() + make_interval(secs => %(seconds)s))
on conflict (host) do update
set free_at = greatest(known.free_at, clock_timestamp()) + make_interval(secs => %(seconds)s)
returning extract(epoch from free_at - clock_timestamp())::double precision - %(seconds)s
