-- The platform named the stores of a city.
update storecrawl.cities
set crawled_at = clock_timestamp(),
    stores_found = %(found)s,
    failures = 0,
    failed_at = null,
    error = null
where state = %(state)s
    and name = %(city)s
