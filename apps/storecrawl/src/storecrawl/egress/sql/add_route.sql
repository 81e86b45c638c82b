insert into storecrawl.routes
    (protocol, host, port, username, password, password_env, city, state, country, timezone)
values (
    %(protocol)s, %(host)s, %(port)s, %(username)s, %(password)s, %(password_env)s, %(city)s, %(state)s, %(country)s,
    %(timezone)s
)
on conflict do nothing
returning id
