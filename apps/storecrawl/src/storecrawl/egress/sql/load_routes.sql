select
    id, protocol::text, host, port, username, password, password_env, city, state, country, timezone, forbidden_with,
    extract(epoch from paused_until - clock_timestamp())::double precision as paused_for
from storecrawl.routes
where active
order by id
