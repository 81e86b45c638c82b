-- returns: what the platform said of it when it was last seen
select raw
from storecrawl.locations
where id = %(location_id)s
