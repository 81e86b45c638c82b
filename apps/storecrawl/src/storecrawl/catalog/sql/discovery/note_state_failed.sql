-- An attempt to have the cities of a state named brought no answer.
insert into storecrawl.states as known (code, name, failures, failed_at, error)
values (%(state)s, %(state)s, 1, clock_timestamp(), %(error)s)
on conflict (code) do update
set failures = known.failures + 1,
    failed_at = clock_timestamp(),
    error = excluded.error
