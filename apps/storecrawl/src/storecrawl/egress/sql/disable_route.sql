update storecrawl.routes
set
    active = false,
    disabled_at = coalesce(disabled_at, clock_timestamp()),
    disabled_because = case when active then %(reason)s else disabled_because end
where id = %(id)s
returning id
