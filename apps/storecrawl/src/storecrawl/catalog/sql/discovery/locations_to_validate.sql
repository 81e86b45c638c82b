-- returns: those of the locations that the rules decide about, locked in the order of their ids
select id, platform_store_id, status::text, name, slug, city, state, menu_url, raw, store_id
from storecrawl.locations
where platform_store_id = any(%(platform_store_ids)s)
    and status in ('discovered', 'rejected', 'needs_investigation')
    and not rejected_by_person
order by platform_store_id
for update
