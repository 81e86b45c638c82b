-- An attempt to have the stores of a city named brought no answer.
update storecrawl.cities
set failures = failures + 1,
    failed_at = clock_timestamp(),
    error = %(error)s
where state = %(state)s
    and name = %(city)s
