-- returns: the names of some stores
select id, name
from storecrawl.stores
where id = any(%(ids)s)
