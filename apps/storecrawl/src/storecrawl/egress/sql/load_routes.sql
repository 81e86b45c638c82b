select id, protocol::text, host, port, username, password, password_env, city, state, country, timezone, forbidden_with
from storecrawl.routes
where active
order by id
