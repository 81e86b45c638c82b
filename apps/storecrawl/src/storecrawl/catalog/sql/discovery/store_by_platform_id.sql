-- returns: id of the store that is crawled by this id of the platform
select id
from storecrawl.stores
where platform_store_id = %(platform_store_id)s
