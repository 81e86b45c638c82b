-- The first who asks when the pause is over tries the route; for the others it goes on.
-- returns: whether the caller is the one, and for how many seconds it was paused, null where it is not any more
with route as (
    -- Locked first, so that those who come at the same moment see what the first one wrote.
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
