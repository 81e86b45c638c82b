-- It begins anew: what it was disabled or paused for is not held against it any more.
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
