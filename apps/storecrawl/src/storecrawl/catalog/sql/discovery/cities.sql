-- returns: a page of cities by state and name; the next page is what comes after its last one
select city.id, city.state, city.name, city.stores_told, city.stores_found, city.crawled_at, city.failures,
    city.failed_at, city.error, city.first_seen_at, city.last_seen_at
from storecrawl.cities as city
where (%(state)s::text is null or city.state = %(state)s)
    and (not %(failing)s or city.failures > 0)
    and (
        %(after)s::bigint is null
        or (city.state, city.name) > (select state, name from storecrawl.cities where id = %(after)s)
    )
order by city.state, city.name
limit %(limit)s
