-- returns: the location seen last that goes by this id or slug and is in no doubt, other than the id that is not wanted
select id, platform_store_id, status::text, name, store_id
from storecrawl.locations
where (platform_store_id = %(entry)s or slug = %(entry)s)
    and platform_store_id is not null
    and platform_store_id is distinct from %(other_than)s
    and status in ('discovered', 'verified', 'linked')
order by last_seen_at desc, id desc
limit 1
