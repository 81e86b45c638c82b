-- It begins anew: what it was disabled for is not held against it any more.
update storecrawl.routes
set active = true, disabled_at = null, disabled_because = null, forbidden_with = '{}'
where id = %(id)s
returning id
