select
    id, protocol::text, host, port, username, password is not null or password_env is not null as has_password, city, state, country, timezone, active,
    disabled_at, disabled_because, paused_until, paused_because, successes, failures, forbidden_with, last_used_at, last_error, last_error_at, added_at
from storecrawl.routes
where %(id)s::bigint is null or id = %(id)s
order by id
