-- The platform named the cities of a state.
insert into storecrawl.states as known (code, name, listed_at)
values (%(state)s, %(state)s, clock_timestamp())
on conflict (code) do update
set listed_at = clock_timestamp(),
    failures = 0,
    failed_at = null,
    error = null
