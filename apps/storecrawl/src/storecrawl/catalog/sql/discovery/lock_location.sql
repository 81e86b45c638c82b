-- returns: the location's status, id of the platform, name and store
-- locks: its row
select id, platform_store_id, status::text, name, store_id
from storecrawl.locations
where id = %(location_id)s
for update
