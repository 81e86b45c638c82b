-- returns: discovered locations, locked in the order of their ids
select id, platform_store_id, name, slug
from storecrawl.locations
where status = 'discovered'
order by platform_store_id
for update
