-- returns: the ids of all stores, in order
select id
from storecrawl.stores
order by id
