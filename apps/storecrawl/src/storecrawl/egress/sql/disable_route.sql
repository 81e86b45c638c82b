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
